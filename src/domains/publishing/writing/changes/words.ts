/** A run of words that two texts share (`equal`), or that only the new (`insert`) or the old one (`delete`) has. */
export interface WordRun {
  readonly kind: 'equal' | 'insert' | 'delete'
  readonly text: string
}

/** Edits that are looked for between two places that are alike. Beyond it, the words between them are replaced. */
const MAX_EDITS = 200

/**
 * Bounds the effort for the texts that are compared together, such as those of two versions. When a part of it is spent,
 * the differences of the rest are coarser: by sentences instead of words, then one replacement of the whole.
 */
export class DiffBudget {
  /** Characters that are divided into words. */
  wordCharacters = 16_000
  /** Characters that are divided into sentences. */
  sentenceCharacters = 150_000
  /** Comparisons of two words or sentences. */
  steps = 100_000

  /** For comparisons whose differences do not matter, only whether there are any. */
  static none(): DiffBudget {
    return Object.assign(new DiffBudget(), { wordCharacters: 0, sentenceCharacters: 0, steps: 0 })
  }
}

/** How many comparisons it costs to look a word up. */
const LOOKUP_STEPS = 5

/** Tokens of a text that are compared. */
const MAX_TOKENS = 5_000

/** Scripts that are written without spaces between words. */
const SPACELESS = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]`

/**
 * Words, runs of white space, and single other characters. Characters of scripts without spaces stand alone, and so do
 * emoji, whole.
 */
const TOKEN = new RegExp(
  [
    String.raw`[[\p{L}\p{N}]--${SPACELESS}][[\p{L}\p{N}\p{M}_'’]--${SPACELESS}]*`,
    String.raw`\s+`,
    String.raw`[${SPACELESS}&&\p{L}]\p{M}*`,
    String.raw`\p{RGI_Emoji}`,
    String.raw`[\s\S]\p{M}*`,
  ].join('|'),
  'gv',
)

/** Sentences and lines, with the white space after them. */
const SENTENCE = /[^\n.!?。！？]*[\n.!?。！？]+[ \t]*|[^\n.!?。！？]+/g

/**
 * The difference of two texts by words. The runs are in the order of the text; without those of `insert` they make up
 * the old text, without those of `delete` the new one. Two runs that follow each other are of different kinds.
 *
 * The effort is bounded: words that occur once in both texts divide them first, as in patience diff, and the rest is
 * compared by the algorithm of Myers with at most `MAX_EDITS` edits. So texts with little in common can have a longer
 * difference than the shortest one. Texts that differ in more than the budget allows are compared by sentences first,
 * and by words within sentences that were replaced.
 */
export function diffWords(before: string, after: string, budget = new DiffBudget()): WordRun[] {
  const start = commonStart(before, after)
  const end = commonEnd(before, after, start)
  const old = before.slice(start, before.length - end)
  const now = after.slice(start, after.length - end)
  const inside = byWords(old, now, budget) ?? bySentences(old, now, budget)
  return between(before.slice(0, start), inside, before.slice(before.length - end))
}

/** Undefined if the budget is too small. */
function byWords(before: string, after: string, budget: DiffBudget): WordRun[] | undefined {
  const characters = before.length + after.length
  if (characters > budget.wordCharacters) return undefined
  budget.wordCharacters -= characters
  return byTokens(before, after, TOKEN, budget)
}

function bySentences(before: string, after: string, budget: DiffBudget): WordRun[] {
  const characters = before.length + after.length
  if (characters > budget.sentenceCharacters) return replacement(before, after)
  budget.sentenceCharacters -= characters
  const list = byTokens(before, after, SENTENCE, budget)
  const refined: WordRun[] = []
  for (let index = 0; index < list.length; index += 1) {
    const [run, next] = [list[index], list[index + 1]]
    if (run?.kind === 'delete' && next?.kind === 'insert') {
      refined.push(...(byWords(run.text, next.text, budget) ?? [run, next]))
      index += 1
    } else if (run !== undefined) refined.push(run)
  }
  return joined(refined)
}

function replacement(before: string, after: string): WordRun[] {
  const runs: WordRun[] = [
    { kind: 'delete', text: before },
    { kind: 'insert', text: after },
  ]
  return runs.filter(({ text }) => text !== '')
}

/** Joins runs of one kind that follow each other. */
function joined(list: readonly WordRun[]): WordRun[] {
  const whole: { kind: WordRun['kind']; text: string }[] = []
  for (const { kind, text } of list) {
    const last = whole.at(-1)
    if (last?.kind === kind) last.text += text
    else whole.push({ kind, text })
  }
  return whole
}

function byTokens(before: string, after: string, token: RegExp, budget: DiffBudget): WordRun[] {
  const numbers = new Map<string, number>()
  const numbered = (text: string) => {
    const tokens = tokensOf(text, token)
    return { tokens, ids: Int32Array.from(tokens, (one) => numberOf(one, numbers)) }
  }
  const old = numbered(before)
  const now = numbered(after)
  return runs(old.tokens, now.tokens, matchAll(old.ids, now.ids, budget))
}

/** The tokens of a text. What is after the first `MAX_TOKENS` is one token. */
function tokensOf(text: string, token: RegExp): string[] {
  const tokens: string[] = []
  let end = 0
  for (const [one] of text.matchAll(token)) {
    if (tokens.length === MAX_TOKENS) break
    tokens.push(one)
    end += one.length
  }
  if (end < text.length) tokens.push(text.slice(end))
  return tokens
}

/** How many characters both texts begin with, up to white space, where no word is cut. */
function commonStart(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let same = 0
  while (same < most && a[same] === b[same]) same += 1
  while (same > 0 && !(same < most && a[same] === b[same] && isSpace(a, same))) same -= 1
  return same
}

/** How many characters both texts end with, from white space on. */
function commonEnd(a: string, b: string, start: number): number {
  const most = Math.min(a.length, b.length) - start
  let same = 0
  while (same < most && a[a.length - 1 - same] === b[b.length - 1 - same]) same += 1
  const isSafe = () => same < most && isSpace(a, a.length - same - 1) && isSpace(b, b.length - same - 1)
  while (same > 0 && !isSafe()) same -= 1
  return same
}

function isSpace(text: string, at: number): boolean {
  return (text[at] ?? '').trim() === '' && at >= 0 && at < text.length
}

/** The old or the new text of a difference. */
export function textOf(words: readonly WordRun[], side: 'before' | 'after'): string {
  const other = side === 'before' ? 'insert' : 'delete'
  return words
    .filter(({ kind }) => kind !== other)
    .map(({ text }) => text)
    .join('')
}

/** Applies a difference to the text that it was made from. Returns undefined for any other text. */
export function applyWords(before: string, words: readonly WordRun[]): string | undefined {
  return textOf(words, 'before') === before ? textOf(words, 'after') : undefined
}

function numberOf(token: string, numbers: Map<string, number>): number {
  const known = numbers.get(token)
  if (known !== undefined) return known
  numbers.set(token, numbers.size)
  return numbers.size - 1
}

/** For each token of the old text, the index of its equal in the new one, or -1. Ascending. */
function matchAll(a: Int32Array, b: Int32Array, budget: DiffBudget): Int32Array {
  const matches = new Int32Array(a.length).fill(-1)
  const open = [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    let { aStart, aEnd, bStart, bEnd } = part
    while (aStart < aEnd && bStart < bEnd && a[aStart] === b[bStart]) matches[aStart++] = bStart++
    while (aStart < aEnd && bStart < bEnd && a[aEnd - 1] === b[bEnd - 1]) matches[--aEnd] = --bEnd
    if (aStart === aEnd || bStart === bEnd) continue
    budget.steps -= LOOKUP_STEPS * (aEnd - aStart + bEnd - bStart)
    if (budget.steps < 0) break
    const anchors = uniqueMatches(a, b, { aStart, aEnd, bStart, bEnd })
    if (anchors.length === 0) {
      const match = (x: number, y: number) => (matches[aStart + x] = bStart + y)
      shortestEdit(a.subarray(aStart, aEnd), b.subarray(bStart, bEnd), match, budget)
      continue
    }
    for (const [x, y] of anchors) {
      open.push({ aStart, aEnd: x, bStart, bEnd: y })
      matches[x] = y
      aStart = x + 1
      bStart = y + 1
    }
    open.push({ aStart, aEnd, bStart, bEnd })
  }
  return matches
}

interface Part {
  readonly aStart: number
  readonly aEnd: number
  readonly bStart: number
  readonly bEnd: number
}

/** The longest list of tokens that occur once in both parts and are in the same order in both. */
function uniqueMatches(a: Int32Array, b: Int32Array, { aStart, aEnd, bStart, bEnd }: Part): [number, number][] {
  const inA = new Map<number, number>()
  for (let x = aStart; x < aEnd; x += 1) inA.set(a[x] ?? 0, inA.has(a[x] ?? 0) ? -1 : x)
  const inB = new Map<number, number>()
  for (let y = bStart; y < bEnd; y += 1) inB.set(b[y] ?? 0, inB.has(b[y] ?? 0) ? -1 : y)
  const pairs: [number, number][] = []
  for (const [id, x] of inA) {
    const y = inB.get(id)
    if (x >= 0 && y !== undefined && y >= 0) pairs.push([x, y])
  }
  return longestAscending(pairs.toSorted(([one], [other]) => one - other))
}

/** Of pairs that are in the order of their first numbers, the longest list in which the second ones ascend too. */
function longestAscending(pairs: readonly [number, number][]): [number, number][] {
  /** The last pair of the best list of each length. */
  const ends: number[] = []
  const previous: number[] = []
  for (const [index, [, y]] of pairs.entries()) {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < y) low = middle + 1
      else high = middle
    }
    previous.push(ends[low - 1] ?? -1)
    ends[low] = index
  }
  const found: [number, number][] = []
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index] ?? -1) {
    const pair = pairs[index]
    if (pair !== undefined) found.push(pair)
  }
  return found.toReversed()
}

/**
 * Reports the equal tokens of a shortest edit script (Myers, “An O(ND) Difference Algorithm”, 1986), or none if it has
 * more than `MAX_EDITS` edits or the budget is spent.
 */
function shortestEdit(a: Int32Array, b: Int32Array, match: (x: number, y: number) => void, budget: DiffBudget): void {
  const most = Math.min(a.length + b.length, MAX_EDITS)
  const furthest = new Int32Array(2 * most + 3)
  const steps: Int32Array[] = []
  for (let edits = 0; edits <= most; edits += 1) {
    steps.push(furthest.slice(most + 1 - edits - 1, most + 1 + edits + 2))
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = most + 1 + diagonal
      const left = furthest[at - 1] ?? 0
      const right = furthest[at + 1] ?? 0
      let x = diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1
      let y = x - diagonal
      const start = x
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1
        y += 1
      }
      furthest[at] = x
      budget.steps -= x - start + 1
      if (x >= a.length && y >= b.length) return goBack(steps, a.length, b.length, match)
    }
    if (budget.steps < 0) return
  }
}

function goBack(steps: readonly Int32Array[], aEnd: number, bEnd: number, match: (x: number, y: number) => void): void {
  let x = aEnd
  let y = bEnd
  for (let edits = steps.length - 1; edits >= 0; edits -= 1) {
    const furthest = steps[edits] ?? new Int32Array()
    const diagonal = x - y
    const at = edits + 1 + diagonal
    const left = furthest[at - 1] ?? 0
    const right = furthest[at + 1] ?? 0
    const isInsert = diagonal === -edits || (diagonal !== edits && left < right)
    const fromX = edits === 0 ? 0 : isInsert ? right : left
    const fromY = edits === 0 ? 0 : fromX - (isInsert ? diagonal + 1 : diagonal - 1)
    const startX = edits === 0 ? 0 : isInsert ? fromX : fromX + 1
    while (x > startX && y > startX - diagonal) {
      x -= 1
      y -= 1
      match(x, y)
    }
    x = fromX
    y = fromY
  }
}

function runs(old: readonly string[], now: readonly string[], matches: Int32Array): WordRun[] {
  const list: { kind: WordRun['kind']; text: string }[] = []
  let deleted = ''
  let inserted = ''
  let kept = ''
  const change = () => {
    if (deleted !== '') list.push({ kind: 'delete', text: deleted })
    if (inserted !== '') list.push({ kind: 'insert', text: inserted })
    deleted = ''
    inserted = ''
  }
  /** Ends a run of equal tokens. White space alone between two changes reads better as a part of them. */
  const keep = (isLast: boolean) => {
    if (kept === '') return
    const isBetween = (deleted !== '' || inserted !== '') && !isLast
    if (isBetween && kept.trim() === '') {
      deleted += kept
      inserted += kept
    } else {
      change()
      list.push({ kind: 'equal', text: kept })
    }
    kept = ''
  }
  let y = 0
  for (const [x, token] of old.entries()) {
    const match = matches[x] ?? -1
    if (match === -1) {
      keep(false)
      deleted += token
      continue
    }
    if (match > y) keep(false)
    while (y < match) inserted += now[y++] ?? ''
    kept += token
    y = match + 1
  }
  if (y < now.length) keep(false)
  while (y < now.length) inserted += now[y++] ?? ''
  keep(true)
  change()
  return list
}

/** Puts what both texts begin and end with around a difference. */
function between(head: string, list: WordRun[], tail: string): WordRun[] {
  const [first] = list
  const start = first?.kind === 'equal' ? head + first.text : head
  const runs = first?.kind === 'equal' ? list.slice(1) : list
  const last = runs.at(-1)
  if (last === undefined) return start + tail === '' ? [] : [equal(start + tail)]
  const isOpen = last.kind === 'equal'
  const whole = [equal(start), ...(isOpen ? runs.slice(0, -1) : runs), equal(isOpen ? last.text + tail : tail)]
  return whole.filter(({ text }) => text !== '')
}

function equal(text: string): WordRun {
  return { kind: 'equal', text }
}
