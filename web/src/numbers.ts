// Numbers in a few characters, letter for letter as Python's %g writes them.

/** A number to so many digits: 0.1, -12, 1e-05, 2.5e+10, inf, nan. */
export function general(value: number, digits = 6): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? "-" : "+";
    return `${trimmed(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return trimmed(value.toFixed(digits - 1 - exponent));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A minus as it is printed in books, where it is not to be typed again. */
export function pretty(text: string): string {
  return text.replace(/(^|[^\w.])-(?=[\d.i])/g, "$1−");
}
