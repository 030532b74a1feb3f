import type { PendingConsent } from '../state.ts';

const STYLE = `
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #eef1f5; color: #1d2733;
         font: 16px/1.5 system-ui, sans-serif; }
  main { width: min(26rem, calc(100vw - 2rem)); box-sizing: border-box; padding: 2rem; background: #fff;
         border-radius: .75rem; box-shadow: 0 1px 3px #0003; }
  h1 { margin: 0 0 1rem; font-size: 1.25rem; }
  li { margin: .25rem 0; } code { font-size: .9em; overflow-wrap: anywhere; }
  form { display: flex; gap: .75rem; margin-top: 1.5rem; }
  button { flex: 1; padding: .6rem 1rem; font: inherit; border: 1px solid #8895a5; border-radius: .5rem;
           background: #fff; color: inherit; cursor: pointer; }
  button[value=allow] { background: #1257c9; border-color: #1257c9; color: #fff; }
  button:focus-visible { outline: 3px solid #7fb0ff; outline-offset: 2px; }
  small { display: block; margin-top: 1.25rem; color: #55606d; }`;

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
