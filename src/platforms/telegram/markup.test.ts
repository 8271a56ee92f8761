import { describe, expect, test } from 'vitest'
import { check } from '../rules/engine.ts'
import { fixesOf } from '../rules/fixes.ts'
import { effectiveLimits } from '../rules/limits.ts'
import { telegram } from './index.ts'
import { plainText } from './markup.ts'

const html = (text: string) => plainText(text, { parse_mode: 'HTML' })
const markdown = (text: string) => plainText(text, { parse_mode: 'MarkdownV2' })

describe('the examples of the documentation', () => {
  test.each([
    ['<b>bold</b>, <strong>bold</strong>', 'bold, bold'],
    [
      '<b>bold <i>italic bold <s>strike <span class="tg-spoiler">spoiler</span></s> <u>u</u></i> bold</b>',
      'bold italic bold strike spoiler u bold',
    ],
    ['<a href="http://www.example.com/?a=1>2">inline URL</a>', 'inline URL'],
    ['<tg-emoji emoji-id="5368324170671202286">👍</tg-emoji>', '👍'],
    ['<pre><code class="language-python">code</code></pre>', 'code'],
    ['<blockquote expandable>Quotation</blockquote>', 'Quotation'],
    ['1 &lt; 2 &amp; 3 &gt; 2 &quot;&#8364;&#x20AC;&quot; &nbsp;', '1 < 2 & 3 > 2 "€€" &nbsp;'],
  ])('HTML: %s', (text, plain) => {
    expect(html(text)).toBe(plain)
  })

  test.each([
    [String.raw`*bold \*text*`, 'bold *text'],
    [
      '*bold _italic ~strike ||spoiler||~ __underline italic bold___ bold*',
      'bold italic strike spoiler underline italic bold bold',
    ],
    [String.raw`[inline \] URL](http://www.example.com/a\)b.c)`, 'inline ] URL'],
    ['![👍](tg://emoji?id=5368324170671202286)', '👍'],
    ['`a.b`', 'a.b'],
    ['```\nblock.of(code)\n```', 'block.of(code)\n'],
    ['```python\nblock\n```', 'block\n'],
    ['>Quotation\n>continued\n**>expandable\n>last line||', 'Quotation\ncontinued\nexpandable\nlast line'],
  ])('MarkdownV2: %s', (text, plain) => {
    expect(markdown(text)).toBe(plain)
  })
})

test.each([
  ['HTML', '<b>open'],
  ['HTML', '<b><i>crossed</b></i>'],
  ['HTML', '1 < 2'],
  ['HTML', '<h1>heading</h1>'],
  ['HTML', '<span>no spoiler</span>'],
  ['HTML', 'closed</b>'],
  ['MarkdownV2', 'The end.'],
  ['MarkdownV2', '*open'],
  ['MarkdownV2', '`open'],
  ['MarkdownV2', '[text](http://example.com'],
  ['MarkdownV2', 'a > b'],
])('%s that Telegram refuses: %s', (mode, text) => {
  const options = { parse_mode: mode }
  expect(plainText(text, options)).toBeUndefined()
  expect(check(telegram, effectiveLimits(telegram), { text, media: [], options })).toMatchObject([
    { rule: 'text.markup', severity: 'error', pointer: '/text' },
  ])
})

test('without a mode, every character is text', () => {
  expect(plainText('<b>*1 < 2*.', {})).toBe('<b>*1 < 2*.')
})

test('the limits count what is left without the markup', () => {
  const limits = effectiveLimits(telegram)
  const options = { parse_mode: 'HTML' }
  const marked = (length: number) => `<b>${'a'.repeat(length)}</b> &lt;`
  const post = (length: number) => ({ text: marked(length), media: [], firstComment: marked(length), options })
  expect(check(telegram, limits, post(4_094))).toEqual([])
  const content = post(4_095)
  const problems = check(telegram, limits, content)
  expect(problems).toMatchObject([
    { rule: 'comment.max', actual: 4_097 },
    { rule: 'text.max', actual: 4_097 },
  ])
  // Cutting it would break its markup.
  expect(problems.flatMap((problem) => fixesOf(telegram, limits, content, problem))).toEqual([])
})
