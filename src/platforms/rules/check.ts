import type { PostContent } from '../content.ts'
import type { Platform } from '../platform.ts'
import { countUpTo, fitsForSure } from './counting.ts'
import { numberOf, type Limit, type Limits } from './limits.ts'
import { breach, general, shown, type Problem } from './problem.ts'
import type { CountingMethod, RuleId } from './rule.ts'

/** What a check needs of a platform, beside its limits. */
export type RuledPlatform = Pick<Platform, 'title' | 'options' | 'refusals' | 'plainText' | 'partsOf'>

/** What a check knows besides the content. */
export interface CheckContext {
  /** Milliseconds since the epoch. */
  readonly now?: number
  /** When the platform itself is to publish the post. Absent if Crier publishes it. */
  readonly platformPublishesAt?: number
  /** How many posts and replies the account has published within the period of each rule. */
  readonly used?: Partial<Readonly<Record<'posts.perDay' | 'posts.perHour' | 'replies.perDay', number>>>
}

/** One check of one post, with the problems that were found. */
export interface Check {
  readonly title: string
  readonly platform: RuledPlatform
  readonly limits: Limits
  readonly content: PostContent
  readonly context: CheckContext
  readonly problems: Problem[]
}

/** How a length is named, by its counting. */
export const LENGTH_UNITS: Readonly<Record<CountingMethod, string>> = {
  characters: 'characters',
  graphemes: 'graphemes',
  bytes: 'bytes',
  utf16: 'UTF-16 code units',
  x_weighted: 'weighted characters',
  mastodon: 'characters',
  threads: 'characters',
}

/** The numeric limit of a rule. */
export function numericLimit({ limits }: Pick<Check, 'limits'>, id: RuleId): (Limit & { value: number }) | undefined {
  const limit = limits.byId.get(id)
  return typeof limit?.value === 'number' ? (limit as Limit & { value: number }) : undefined
}

interface LengthCheck {
  readonly text: string
  readonly pointer: string
  /** At the start of the message: `The text`. */
  readonly what: string
  readonly fix: string
}

/** Checks a length against a rule. */
export function checkLength(check: Check, id: RuleId, { fix, pointer, text, what }: LengthCheck): void {
  const limit = numericLimit(check, id)
  if (limit === undefined) return
  const counting = id.endsWith('Bytes') ? 'bytes' : (limit.counting ?? 'characters')
  if (fitsForSure(counting, text, limit.value)) return
  const { isLeast, length: actual } = countUpTo(counting, text, limit.value)
  if (actual <= limit.value) return
  const unit = LENGTH_UNITS[counting]
  check.problems.push(
    breach(limit, {
      actual,
      unit,
      pointer,
      message: `${what} has ${isLeast ? 'more than ' : ''}${shown(actual)} ${unit}; ${check.title} allows ${shown(limit.value)}.`,
      fix,
    }),
  )
}

/** Warns that the platform does not have a field, so that the field is not left out silently. */
export function warnUnused(check: Check, field: string, what: string, fix: string): void {
  check.problems.push(
    general('field.unused', 'warning', {
      pointer: `/${field}`,
      message: `${check.title} has no ${what}, so it is left out.`,
      fix,
    }),
  )
}

/** Whether the platform has what a rule limits. */
export function has({ limits }: Pick<Check, 'limits'>, id: RuleId): boolean {
  return (numberOf(limits, id) ?? 0) > 0
}
