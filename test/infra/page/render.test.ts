import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { renderPage } from '../../../infra/page/render.ts';
import { pageContents, pageDays, pageExport, pageSums } from '../../support/page-contents.ts';

/** The markup of a page with these exports. */
function render(...exports: Parameters<typeof pageExport>): string {
  return renderPage(pageContents(exports.map((fields) => pageExport(fields))));
}

describe('texts', () => {
  test.each([
    ['markup', '<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['quotes', `"><b onclick='x'>&amp;`, '&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;amp;'],
    ['what reverses the direction of writing', 'a\u202Eb\u2066c', 'a[U+202E]b[U+2066]c'],
    ['controls', 'a\u0000b\r\nc\u009Bd', 'a␀b␍␊c[U+009B]d'],
    ['half a character', 'a\uD83Db', 'a\uFFFDb'],
    ['joined emoji', '👩‍👩‍👧', '👩‍👩‍👧'],
    ['10,000 characters', '😀'.repeat(10_000), `${'😀'.repeat(400)}… (9600 more characters)`],
  ])('%s', (_, name, shown) => {
    const page = render({ name, account: name });
    expect(page).toContain(`<bdi>${shown}</bdi>`);
    if (name !== shown) expect(page).not.toContain(name);
  });

  test('commands and queries are escaped, and whole', () => {
    const sql = `SELECT '${'<'.repeat(1_000)}'\n\tFROM "a\u0007"`;
    const page = render({ days: pageDays('2026-11-01', 1), queries: { days: sql } });
    expect(page).toContain(
      `<pre class=copy>SELECT &#39;${'&lt;'.repeat(1_000)}&#39;\n\tFROM &quot;a␇&quot;</pre>`,
    );
  });
});

test('the policy allows this style sheet only', () => {
  const page = render({ days: pageDays('2026-11-01', 30), sums: pageSums('2026-11-01', 30) });
  const [, css = ''] = /<style>(.*)<\/style>/s.exec(page) ?? [];
  const hash = createHash('sha256').update(css).digest('base64');
  expect(page).toContain(`default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;`);
  expect(page).not.toMatch(/<script|style=|https?:|@import|url\(/);
});
