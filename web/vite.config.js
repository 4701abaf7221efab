// Builds the page into one file, script and style inside, under a policy that allows nothing else.
import { createHash } from "node:crypto";
import { defineConfig } from "vite";

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function oneFile() {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const parts = Object.values(bundle);
      const page = parts.find((part) => part.fileName.endsWith(".html"));
      const script = parts.find((part) => part.type === "chunk").code.trim().replaceAll("</script", "<\\/script");
      const style = String(parts.find((part) => part.fileName.endsWith(".css")).source).trim();
      const policy =
        `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
        "base-uri 'none'; form-action 'none'";
      page.source = String(page.source)
        .replace(/\s*<script type="module".*?<\/script>/s, "")
        .replace(/\s*<link rel="stylesheet".*?>/s, "")
        .replace("POLICY", () => policy)
        .replace("</head>", () => `<style>${style}</style>\n</head>`)
        .replace("</body>", () => `<script type="module">${script}</script>\n</body>`);
      page.fileName = "page.html";
      for (const [key, part] of Object.entries(bundle)) if (part !== page) delete bundle[key];
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    outDir: process.env.OUT ?? "../src/chainrule/view",
    emptyOutDir: false,
    modulePreload: false,
    target: "es2022",
  },
});
