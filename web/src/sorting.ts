// The two ways to sort a graph, event by event: `cr.topological_sort(…, steps=True)`, for graphs too large to ship them.

import type { Sort } from "./model";

/** Depth first from the outputs: what a node needs is placed before it. */
export function depthFirst(parents: number[][], outputs: number[]): Sort {
  const kind: string[] = [];
  const node: number[] = [];
  const say = (what: string, v: number) => { kind.push(what); node.push(v); };
  const entered = new Uint8Array(parents.length);
  const next = new Int32Array(parents.length);
  const stack: number[] = [];
  const enter = (v: number) => { entered[v] = 1; stack.push(v); say("push", v); };
  for (const root of [...outputs, ...parents.keys()]) {
    if (entered[root]) continue;
    enter(root);
    while (stack.length) {
      const v = stack[stack.length - 1];
      const target = parents[v][next[v]++];
      if (target === undefined) {
        say("backtrack", v);
        stack.pop();
        say("placed", v);
      } else if (entered[target]) say("visited", target);
      else enter(target);
    }
  }
  return { kind, node };
}
