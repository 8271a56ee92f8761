import type { Limit, LimitSource } from './limits.ts'
import type { RuleId } from './rule.ts'

/** What the engine checks besides the rules of the platforms. */
export const GENERAL_RULES = {
  'account.blocked': 'what the account can do at the platform',
  'content.empty': 'a post has a text or a file',
  'content.refused': 'what the platform takes together',
  'field.unused': 'the platform has such a field',
  'link.invalid': 'the link is an http or https URL',
  'media.unexamined': 'what is known of a file',
  'options.invalid': 'the options of the platform',
  'text.invalid': 'the text is valid Unicode',
  'text.markup': 'markup that the platform can read',
  'text.repeated': 'an account publishes a text once within an hour',
} as const

export type GeneralRule = keyof typeof GENERAL_RULES

/** Something that a platform does not accept, or that it changes. */
export interface Problem {
  readonly rule: RuleId | GeneralRule
  /** `error`: the platform refuses the post. `warning`: it takes the post, and the message says what it does with it. */
  readonly severity: 'error' | 'warning'
  /** Null where the rule has no value, such as for options. */
  readonly limit: number | readonly string[] | null
  readonly actual: number | string | null
  /** The unit of `limit` and `actual`. */
  readonly unit: string
  /** JSON Pointer (RFC 6901) into the `PostContent`. */
  readonly pointer: string
  readonly source: LimitSource
  readonly message: string
  /** What the user can do. */
  readonly fix: string
}

export type Found = Pick<Problem, 'pointer' | 'message' | 'fix' | 'unit'> & { readonly actual: number | string }

/** The source of the rules that apply everywhere. */
export const GENERAL: LimitSource = { origin: 'rule', title: 'Crier', seen: null, confidence: null }

/** A breach of a rule of the platform. */
export function breach(limit: Limit, found: Found): Problem {
  const { effect, id, source, value } = limit
  if (effect === undefined) return { ...found, rule: id, severity: 'error', limit: value, source }
  const message = `${found.message} It ${effect}.`
  return { ...found, message, rule: id, severity: 'warning', limit: value, source }
}

/** A breach of a rule that applies everywhere. */
export function general(
  rule: GeneralRule,
  severity: Problem['severity'],
  found: Pick<Problem, 'pointer' | 'message' | 'fix'> & { readonly actual?: string; readonly source?: LimitSource },
): Problem {
  const { actual = null, fix, message, pointer, source = GENERAL } = found
  return { rule, severity, limit: null, actual, unit: GENERAL_RULES[rule], pointer, source, message, fix }
}

const NOT_THERE: LimitSource = { origin: 'rule', title: 'the rules of the platform', seen: null, confidence: null }

/** A breach of a rule that the platform does not state, because it lacks the function. */
export function missing(rule: RuleId, found: Found): Problem {
  return { ...found, rule, severity: 'error', limit: 0, source: NOT_THERE }
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })

/** A number for people: `25,000`. */
export function shown(value: number): string {
  return NUMBERS.format(value)
}

/** `1 image`, `3 images`. */
export function counted(count: number, noun: string): string {
  return `${shown(count)} ${count === 1 ? noun : `${noun}s`}`
}

const UNITS = [
  [1_000_000_000, 'GB'],
  [1_000_000, 'MB'],
  [1_000, 'kB'],
] as const

/** The larger size and the limit, in a unit in which they differ: `9.4 MB` and `8 MB`. */
export function sizes(actual: number, limit: number): readonly [string, string] {
  for (const [size, unit] of UNITS) {
    const texts = [actual, limit].map((bytes) => `${shown(bytes / size)} ${unit}`)
    if (limit >= size && texts[0] !== texts[1]) return [texts[0] ?? '', texts[1] ?? '']
  }
  return [`${shown(actual)} bytes`, `${shown(limit)} bytes`]
}
