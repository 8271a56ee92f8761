import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countText } from '../rules/counting.ts'
import { check } from '../rules/engine.ts'
import { fixesOf } from '../rules/fixes.ts'
import { effectiveLimits, type Limits } from '../rules/limits.ts'
import { telegram } from './index.ts'
import { plainText } from './markup.ts'

const SOURCE = { source: 'docs.example', seen: '2026-11', confidence: 'read' } as const
const THREADS = { id: 'thread.max', value: 20, ...SOURCE } as const

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
  expect(problems.flatMap((problem) => fixesOf(telegram, limits, content, problem))).toMatchObject([
    { kind: 'split', pointer: '/text', parts: [`<b>${'a'.repeat(4_095)}</b>`, '&lt;'] },
  ])
})

describe('splitting a text into a thread', () => {
  const limits: Limits = {
    ...effectiveLimits(telegram),
    byId: effectiveLimits({ rules: [{ id: 'text.max', value: 20, counting: 'characters', ...SOURCE }, THREADS] }).byId,
  }
  const split = (text: string, mode: string, numbered = false) => {
    const content = { text, media: [], options: { parse_mode: mode } }
    const problem = check(telegram, limits, content).find(({ rule }) => rule === 'text.max')
    const [fix] = problem === undefined ? [] : fixesOf(telegram, limits, content, problem, { numbered })
    return fix?.kind === 'split' ? fix.parts : undefined
  }

  test.each([
    [
      'HTML',
      '<b>One sentence here. <i>Another one.</i></b>',
      ['<b>One sentence here.</b>', '<b><i>Another one.</i></b>'],
    ],
    [
      'HTML',
      'See <a href="https://a.example/?a&amp;b">the first text and the other</a>',
      [
        'See <a href="https://a.example/?a&amp;b">the first text</a>',
        '<a href="https://a.example/?a&amp;b">and the other</a>',
      ],
    ],
    ['HTML', '1 &lt; 2 &amp; 3 &lt; 4, so it is as it is', ['1 &lt; 2 &amp; 3 &lt; 4, so it', 'is as it is']],
    ['MarkdownV2', '*One sentence here\\. _Another one\\._*', ['*One sentence here\\.*', '*_Another one\\._*']],
    ['MarkdownV2', '__one _two three four five six_**__', ['__one _two three four_**__', '___five six_**__']],
    [
      'MarkdownV2',
      'See [the first text and the other](https://a.example/\\))',
      ['See [the first text](https://a.example/\\))', '[and the other](https://a.example/\\))'],
    ],
    [
      'MarkdownV2',
      '```js\nconst one = 1;\nconst two = `2`;\n```',
      ['```js\nconst one = 1;```', '```js\nconst two = \\`2\\`;```'],
    ],
    [
      'MarkdownV2',
      '>A quotation of two\n>lines, which is long||\n\nThe end',
      ['>A quotation of two||', '>lines, which is long||', 'The end'],
    ],
  ])('%s: %s', (mode, text, parts) => {
    expect(split(text, mode)).toEqual(parts)
  })

  test('the number of a part is outside of its markup', () => {
    expect(split('<b>One sentence here. Another one.</b>', 'HTML', true)).toEqual([
      '<b>One sentence</b> 1/3',
      '<b>here. Another</b> 2/3',
      '<b>one.</b> 3/3',
    ])
  })

  const word = fc.constantFrom(
    'word',
    'a',
    'Sentence',
    'https://a.example/b',
    '日本語',
    '👩‍👩‍👧',
    '_',
    '*',
    '`',
    '\\',
    '<',
    '&',
    '>',
    '!',
  )
  const node: fc.Arbitrary<Node> = fc.letrec<{ node: Node; all: Node[] }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      word,
      fc.record({ kind: fc.constantFrom('b', 'i', 'u', 's', 'spoiler', 'link', 'code', 'pre'), inside: tie('all') }),
    ),
    all: fc.array(tie('node'), { minLength: 1, maxLength: 5 }),
  })).node

  test.each(['HTML', 'MarkdownV2'])('every part of a text in %s has valid markup within the limit', (mode) => {
    const options = { parse_mode: mode }
    let splits = 0
    fc.assert(
      fc.property(fc.array(node, { minLength: 3, maxLength: 8 }), fc.boolean(), (nodes, numbered) => {
        const text = nodes.map((one) => written(one, mode)).join('')
        const plain = plainText(text, options)
        if (plain === undefined) return
        const parts = split(text, mode, numbered)
        if (parts === undefined) return
        splits += 1
        const texts = parts.map((part) => plainText(part, options) ?? '')
        for (const one of texts) expect(countText('characters', one)).toBeLessThanOrEqual(20)
        const shown = texts.map((one, index) =>
          numbered ? one.slice(0, -` ${index + 1}/${texts.length}`.length) : one,
        )
        expect(shown.join('').replaceAll(/\s/g, '')).toBe(plain.replaceAll(/\s/g, ''))
      }),
      { numRuns: 200, seed: 14 },
    )
    expect(splits).toBeGreaterThan(50)
  })
})

type Node = string | { readonly kind: string; readonly inside: readonly Node[] }

const TAGS: Readonly<Record<string, readonly [string, string]>> = {
  link: ['<a href="https://a.example/?b&amp;c">', '</a>'],
  spoiler: ['<span class="tg-spoiler">', '</span>'],
}
const MARKS: Readonly<Record<string, readonly [string, string]>> = {
  b: ['*', '*'],
  i: ['_', '_'],
  u: ['__', '__'],
  s: ['~', '~'],
  spoiler: ['||', '||'],
  link: ['[', '](https://a.example/)'],
  code: ['`', '`'],
  pre: ['```js\n', '```'],
}

/** A generated text in markup. */
function written(node: Node, mode: string): string {
  if (typeof node === 'string') {
    if (mode === 'HTML') return `${node.replaceAll('&', '&amp;').replaceAll('<', '&lt;')} `
    return `${node.replaceAll(/[_*[\]()~`>#+\-=|{}.!\\]/g, String.raw`\$&`)} `
  }
  const inside = node.inside.map((one) => written(one, mode)).join('')
  if (mode === 'HTML') {
    const [open, close] = TAGS[node.kind] ?? [`<${node.kind}>`, `</${node.kind}>`]
    return `${open}${inside}${close}`
  }
  const [open = '', close = ''] = MARKS[node.kind] ?? []
  return `${open}${inside}${close} `
}
