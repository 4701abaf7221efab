// Numbers in a few characters, letter for letter as Python's %g writes them.

/** A number to so many digits: 0.1, -12, 1e-05, 2.5e+10, inf, nan. */
export function general(value: number, digits = 6): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, power] = rounded(Math.abs(value), digits).split("e");
  const exponent = Number(power);
  const minus = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? "-" : "+";
    return `${minus}${trimmed(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const figures = mantissa.replace(".", "");
  const whole = exponent < 0 ? "0" : figures.slice(0, exponent + 1);
  const after = exponent < 0 ? "0".repeat(-exponent - 1) + figures : figures.slice(exponent + 1);
  return minus + trimmed(after ? `${whole}.${after}` : whole);
}

/** d.ddde+x; what lies in the middle goes to the even digit, where toExponential goes up. */
function rounded(value: number, digits: number): string {
  const [all, power] = value.toExponential(60).split("e");
  const kept = all.slice(0, digits + 1);
  const middle = /^50*$/.test(all.slice(digits + 1));
  return middle && Number(kept.at(-1)) % 2 === 0 ? `${kept}e${power}` : value.toExponential(digits - 1);
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A minus as it is printed in books, where it is not to be typed again. */
export function pretty(text: string): string {
  return text.replace(/(^|[^\w.])-(?=[\d.i])/g, "$1−");
}

/** Of an array its norm alone: of "3×4, norm 0.2", of "[0.1 -0.2 0.3 0.4]". */
export function brief(text: string): string {
  if (!text.startsWith("[") || text.length <= 12) return text.replace(/^[\d×]+, /, "");
  const numbers = text.replace(/[[\]]/g, " ").trim().split(/\s+/).map(Number);
  return numbers.some(Number.isNaN) ? text : `norm ${general(Math.hypot(...numbers), 4)}`;
}
