import { existsSync } from 'node:fs';

// This is JavaScript, and uses nothing new: an older Node has to load it before it meets what it cannot load,
// such as TypeScript.
if (Number.parseInt(process.versions.node, 10) < 24) {
  const isRepository = existsSync(new URL('operate/cli/main.ts', import.meta.url));
  const where = isRepository
    ? "; 'npm run export --' and 'npm run synth' run on the one in node_modules"
    : '';
  process.stderr.write(
    `error: ad-report-export needs Node 24 or newer, and this is Node ${process.versions.node}${where}\n`,
  );
  process.exit(2);
}
