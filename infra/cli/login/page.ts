/** What the browser shows once the redirect has arrived. It says nothing of what the redirect carried. */
export type Page = 'done' | 'failed' | 'elsewhere';

const PAGES: Readonly<Record<Page, { status: number; title: string; text: string }>> = {
  done: { status: 200, title: 'Logged in', text: 'This page can be closed.' },
  failed: {
    status: 400,
    title: 'Not logged in',
    text: 'The terminal says why. This page can be closed.',
  },
  elsewhere: { status: 404, title: 'Not found', text: 'Nothing is served here.' },
};

const STYLE = `
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 16px/1.5 system-ui, sans-serif;
         color-scheme: light dark; }
  main { padding: 2rem; text-align: center; } h1 { margin: 0 0 .5rem; font-size: 1.5rem; } p { margin: 0; }`;

/** Its address holds a code: it is not stored, not handed on as a referrer, not framed, and it loads nothing. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

export function render(page: Page): { status: number; headers: Record<string, string>; body: string } {
  const { status, title, text } = PAGES[page];
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${STYLE}</style></head>
<body><main><h1>${title}</h1><p>${text}</p></main></body>
</html>
`;
  return { status, headers: HEADERS, body };
}
