// Where on the drawing the reader looks, and how close.

export class Camera {
  x = 0; // of the drawing, at the left edge of the canvas
  y = 0;
  scale = 1;
  width = 1;
  height = 1;

  /** All of a drawing, in the middle; small ones are not blown up beyond `closest`. */
  fit(width: number, height: number, margin = 28, closest = 2.4): void {
    const wide = (this.width - 2 * margin) / Math.max(width, 1);
    const high = (this.height - 2 * margin) / Math.max(height, 1);
    this.scale = Math.max(Math.min(wide, high, closest), 0.002);
    this.x = width / 2 - this.width / 2 / this.scale;
    this.y = height / 2 - this.height / 2 / this.scale;
  }

  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
  }

  /** Closer or farther, the point at (px, py) of the canvas staying where it is. */
  zoom(factor: number, px = this.width / 2, py = this.height / 2): void {
    const scale = Math.min(Math.max(this.scale * factor, 0.002), 8);
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
  }

  centre(x: number, y: number): void {
    this.x = x - this.width / 2 / this.scale;
    this.y = y - this.height / 2 / this.scale;
  }

  /** Do not look beside a drawing of this size while there is some of it to see. */
  hold(width: number, height: number, margin = 28): void {
    const within = (at: number, all: number, seen: number) => {
      const room = margin / this.scale;
      return all + 2 * room <= seen ? (all - seen) / 2 : Math.min(Math.max(at, -room), all + room - seen);
    };
    this.x = within(this.x, width, this.width / this.scale);
    this.y = within(this.y, height, this.height / this.scale);
  }

  /** A point of the canvas as a point of the drawing. */
  point(px: number, py: number): [number, number] {
    return [this.x + px / this.scale, this.y + py / this.scale];
  }

  /** Whether all of a box is seen. */
  holds(left: number, top: number, right: number, bottom: number): boolean {
    return left >= this.x && right <= this.x + this.width / this.scale
      && top >= this.y && bottom <= this.y + this.height / this.scale;
  }

  sees(left: number, top: number, right: number, bottom: number): boolean {
    return right >= this.x && left <= this.x + this.width / this.scale
      && bottom >= this.y && top <= this.y + this.height / this.scale;
  }
}
