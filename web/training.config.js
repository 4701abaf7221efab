// Builds the view of a training run into one module, its style inside: for anywidget, and for a page.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: process.env.OUT ?? "../src/chainrule/view",
    emptyOutDir: false,
    modulePreload: false,
    target: "es2022",
    rollupOptions: {
      input: "src/training/main.ts",
      preserveEntrySignatures: "strict",
      output: { format: "es", entryFileNames: "training.js" },
    },
  },
});
