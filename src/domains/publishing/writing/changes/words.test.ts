import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyWords, DiffBudget, diffWords, textOf } from './words.ts'

/** Another seed gives other cases. */
const SEED = 20261130

/** `[-old-]`, `{+new+}`, and what both have. */
const marked = (before: string, after: string) =>
  diffWords(before, after)
    .map(({ kind, text }) => (kind === 'equal' ? text : kind === 'delete' ? `[-${text}-]` : `{+${text}+}`))
    .join('')

describe('differences by words', () => {
  test.each([
    ['the quick fox', 'the slow fox', 'the [-quick-]{+slow+} fox'],
    ['the fox', 'the quick fox', 'the {+quick +}fox'],
    ['the quick fox', 'the fox', 'the [-quick -]fox'],
    ['', 'new', '{+new+}'],
    ['old', '', '[-old-]'],
    ['same', 'same', 'same'],
    ['', '', ''],
    ['one two three four', 'five six seven four', '[-one two three-]{+five six seven+} four'],
    ['a b c', 'c b a', '[-a b -]c{+ b a+}'],
    ['Hello, world!', 'Hello, World!', 'Hello, [-world-]{+World+}!'],
    ["don't stop", "don't go", "don't [-stop-]{+go+}"],
    ['#sale today', '#sales today', '#[-sale-]{+sales+} today'],
    ['今日は雨です', '今日は晴れです', '今日は[-雨-]{+晴れ+}です'],
    ['สวัสดีครับ', 'สวัสดีค่ะ', 'สวัสดี[-ครับ-]{+ค่ะ+}'],
    ['👩‍👩‍👧 family', '👩‍👩‍👦 family', '[-👩‍👩‍👧-]{+👩‍👩‍👦+} family'],
    ['👍 ok', '👍🏽 ok', '[-👍-]{+👍🏽+} ok'],
    ['line one\nline two', 'line one\n\nline two', 'line one[-\n-]{+\n\n+}line two'],
  ])('%j to %j', (before, after, shown) => {
    expect(marked(before, after)).toBe(shown)
  })

  test('a moved paragraph is one insertion and one deletion', () => {
    const paragraphs = ['Alpha comes first.', 'Beta is the second one.', 'Gamma ends it.']
    const [a, b, c] = paragraphs
    const kinds = diffWords(`${a}\n${b}\n${c}`, `${b}\n${c}\n${a}`).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind !== 'equal').length).toBeLessThanOrEqual(4)
  })
})

describe('the effort for a difference is bounded', () => {
  const numbered = (count: number, word: string) =>
    Array.from({ length: count }, (_, index) => `${word}${(index * 7919) % count}`)

  test('texts that differ in more than the budget allows are compared by sentences, and by words within them', () => {
    const sentences = numbered(2_000, 'This is sentence ').map((text) => `${text}.`)
    const middle = sentences[1_000]?.replace('is sentence', 'was sentence') ?? ''
    const before = sentences.join(' ')
    const after = sentences.with(0, 'Another start.').with(1_000, middle).with(1_999, 'End!').join(' ')
    const budget = new DiffBudget()
    const list = diffWords(before, after, budget)
    expect(applyWords(before, list) === after).toBe(true)
    const changed = list.filter(({ kind }) => kind !== 'equal').map(({ text }) => text)
    expect(changed.every((text) => text.length < 40)).toBe(true)
    expect(changed).toEqual(expect.arrayContaining(['is', 'was']))
    expect(budget.wordCharacters).toBeGreaterThan(15_000)
  })

  test('texts that are compared together share a budget, and the last ones are replaced', () => {
    const budget = new DiffBudget()
    const pairs = Array.from({ length: 40 }, (_, index) => [
      numbered(1_000, `old${index} `).join('. '),
      numbered(1_000, `new${index} `).join('. '),
    ])
    const lists = pairs.map(([before = '', after = '']) => diffWords(before, after, budget))
    expect(budget.wordCharacters).toBeGreaterThanOrEqual(0)
    expect(budget.sentenceCharacters).toBeGreaterThanOrEqual(0)
    expect(
      lists
        .at(-1)
        ?.filter(({ kind }) => kind !== 'equal')
        .map(({ kind }) => kind),
    ).toEqual(['delete', 'insert'])
  })

  test('words that repeat do not take more comparisons than the budget has', () => {
    const budget = new DiffBudget()
    const before = numbered(3_000, '')
      .map((one) => (Number(one) % 3 === 0 ? 'a' : 'b'))
      .join(' ')
    const after = numbered(3_000, '')
      .map((one) => (Number(one) % 5 === 0 ? 'a' : 'b'))
      .join(' ')
    expect(applyWords(before, diffWords(before, after, budget)) === after).toBe(true)
    // The last round of comparisons has at most two for each edit.
    expect(budget.steps).toBeGreaterThan(-20_000)
  })

  test('without a budget, a difference is one replacement', () => {
    expect(diffWords('one two', 'one three', DiffBudget.none())).toEqual([
      { kind: 'equal', text: 'one' },
      { kind: 'delete', text: ' two' },
      { kind: 'insert', text: ' three' },
    ])
  })
})

const words = fc.array(
  fc.constantFrom('a', 'b', 'c', 'the', 'fox', ' ', ' ', '\n', '.', '日', '本', '👍🏽', 'é', 'e\u0301'),
  {
    maxLength: 60,
  },
)
const texts = fc.oneof(
  words.map((list) => list.join('')),
  fc.string({ unit: 'binary', maxLength: 40 }),
)

test('a difference gives the new text from the old one, and the old one from the new', () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const list = diffWords(before, after)
      expect(applyWords(before, list)).toBe(after)
      expect(textOf(list, 'before')).toBe(before)
      expect(list.every(({ text }) => text !== '')).toBe(true)
      for (const [index, { kind }] of list.entries()) {
        const next = list[index + 1]?.kind
        expect(next).not.toBe(kind)
        expect(kind === 'insert' && next === 'delete').toBe(false)
      }
    }),
    { numRuns: 2_000, seed: SEED },
  )
})

test('a difference with hardly a budget does so too', () => {
  fc.assert(
    fc.property(texts, texts, fc.nat({ max: 60 }), fc.nat({ max: 200 }), (before, after, characters, steps) => {
      const budget = Object.assign(new DiffBudget(), { wordCharacters: characters, steps })
      const list = diffWords(before, after, budget)
      expect(applyWords(before, list)).toBe(after)
      expect(list.every(({ text }) => text !== '')).toBe(true)
      for (const [index, { kind }] of list.entries()) expect(list[index + 1]?.kind).not.toBe(kind)
    }),
    { numRuns: 2_000, seed: SEED },
  )
})

test('a difference does not apply to another text', () => {
  expect(applyWords('the red fox', diffWords('the quick fox', 'the slow fox'))).toBeUndefined()
})

test('a small change of a long text is small, also among words that occur often', () => {
  const long = Array.from({ length: 8_000 }, (_, index) => `w${index % 50}`)
  const changed = long.with(4_000, 'changed').toSpliced(6_000, 1)
  const list = diffWords(long.join(' '), changed.join(' '))
  const edited = list.filter(({ kind }) => kind !== 'equal').reduce((sum, { text }) => sum + text.length, 0)
  expect(edited).toBeLessThan(40)
})

test('two long texts without anything in common are one replacement', () => {
  const one = Array.from({ length: 7_000 }, (_, index) => `a${index % 900}`).join(' ')
  const other = Array.from({ length: 7_000 }, (_, index) => `b${index % 900}`).join('\n')
  expect(diffWords(one, other)).toEqual([
    { kind: 'delete', text: one },
    { kind: 'insert', text: other },
  ])
})
