import type { PendingConsent } from '../state.ts';

const STYLE = `
  body { margin: 3rem auto; width: min(26rem, calc(100vw - 2rem)); color: #1d2733; font: 1rem/1.5 system-ui; }
  h1 { font-size: 1.25rem; } code { overflow-wrap: anywhere; } small { color: #55606d; }
  form { display: flex; gap: .75rem; margin: 1.5rem 0; }
  button { flex: 1; padding: .6rem; font: inherit; }`;

/** Shows the requested scopes, with a form to allow or deny them. Works without scripts. */
export function consentPage({ credential, scopes, redirectUri }: PendingConsent, consent: string): string {
  return page(
    'Allow access?',
    `<p><code>${escaped(credential.clientId)}</code> asks for access to the account
     <strong>${escaped(credential.account)}</strong>:</p>
    <ul>${scopes.map((scope) => `<li><code>${escaped(scope)}</code></li>`).join('')}</ul>
    <form method="post">
      <input type="hidden" name="consent" value="${escaped(consent)}">
      <button name="decision" value="deny">Deny</button>
      <button name="decision" value="allow">Allow</button>
    </form>
    <small>You will return to <code>${escaped(new URL(redirectUri).origin)}</code>. This is a sandbox: no real
     account is touched.</small>`,
  );
}

export function messagePage(message: string): string {
  return page('That did not work', `<p>${escaped(message)}</p>`);
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${STYLE}</style></head>
<body><main><h1>${title}</h1>${content}</main></body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
