// What a page listens to outside of its own elements, which ends when another takes its place.

let current = new AbortController();

export function alive(): AbortSignal {
  return current.signal;
}

export function end(): void {
  current.abort();
  current = new AbortController();
}
