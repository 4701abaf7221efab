// The data of a training run, as src/chainrule/view/live.py describes and makes it.

import type { Real } from "../model";

export interface Curve { at: number[]; mean: Real[]; low: Real[]; high: Real[] }
export interface Sign {
  name: string; value: Real; level: number; verdict: string; where: string; band: [number, number];
  log: boolean; history: Real[];
}
export interface Layer { name: string; count: number; status: string; gradient: Real[]; update: Real[] }
export interface Activation { op: string; text: string; place: string; times: number; units: number; dead: number; saturated: number }
export interface Training {
  name: string; state: "waiting" | "running" | "finished" | "interrupted" | "failed";
  epoch: number; epochs: number; step: number; steps: number | null; seconds: number; rate: number | null;
  loss: Curve; trend: string; measured: { at: number[]; columns: Record<string, Real[]> };
  looks: number[]; signs: Sign[]; layers: Layer[]; activations: Activation[];
  findings: string[]; notes: string[]; report: string;
}
