// An array in full, or in statistics: its numbers as a table, a histogram for many.

import { h } from "./dom";
import { real, type Summary } from "./model";
import { general, pretty } from "./numbers";

export function arrayCard(title: string, kind: "value" | "adjoint", summary: Summary): HTMLElement {
  const details = h("details", `array ${kind}`, h("summary", "", `${title}  ${summary.shape.join("×")}`));
  details.append(summary.data ? table(summary) : statistics(summary));
  return details;
}

function table(summary: Summary): HTMLElement {
  const columns = summary.shape[summary.shape.length - 1] || 1;
  const data = summary.data!;
  const largest = Math.max(...data.map((v) => Math.abs(real(v as number))).filter(Number.isFinite), 0) || 1;
  const body = h("tbody");
  for (let start = 0; start < data.length; start += columns) {
    body.append(h("tr", "", ...data.slice(start, start + columns).map((v) => {
      const number = typeof v === "object" && v ? NaN : real(v);
      const cell = h("td", "", typeof v === "object" && v ? JSON.stringify(v) : pretty(general(number, 4)));
      cell.style.setProperty("--size", String(Math.round(32 * Math.abs(number / largest) || 0)));
      return cell;
    })));
  }
  return h("div", "scroll", h("table", "", body));
}

function statistics(summary: Summary): HTMLElement {
  const facts = ["low", "high", "mean", "std", "norm", "zeros", "nan", "inf"] as const;
  const list = h("dl");
  for (const fact of facts) {
    const value = summary[fact];
    if (value === undefined || (value === 0 && ["zeros", "nan", "inf"].includes(fact))) continue;
    list.append(h("dt", "", fact), h("dd", "", pretty(general(real(value), 4))));
  }
  const most = Math.max(...(summary.histogram ?? []), 1);
  const bars = (summary.histogram ?? []).map((count) => {
    const bar = h("i");
    bar.style.height = `${Math.max((100 * count) / most, count ? 3 : 0)}%`;
    bar.title = String(count);
    return bar;
  });
  return h("div", "", list, h("div", "histogram", ...bars));
}
