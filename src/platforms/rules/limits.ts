import { DAY } from '../../core/clock.ts'
import type { Choice, LearnedLimit, LiveCapabilities, Platform } from '../platform.ts'
import { RULE_IDS, type Confidence, type CountingMethod, type RuleId } from './rule.ts'

/** Where a limit comes from. */
export interface LimitSource {
  /** `rule`: the platform's folder. `operator`: this server's file. `live`: the platform's reply for the account. */
  readonly origin: 'rule' | 'operator' | 'live'
  readonly title: string
  /** Year and month in which the source was read, or a file was refused; null for the operator's file and replies. */
  readonly seen: string | null
  readonly confidence: Confidence | null
}

/** A rule as it applies to an account. */
export interface Limit {
  readonly id: RuleId
  readonly value: number | readonly string[]
  readonly counting: CountingMethod | undefined
  readonly source: LimitSource
  /** See `Rule.effect`. */
  readonly effect: string | undefined
  readonly note: string | undefined
}

/** Everything that limits what an account can publish. */
export interface Limits {
  readonly byId: ReadonlyMap<RuleId, Limit>
  /** Why the account cannot do something, by capability. */
  readonly blocked: Readonly<Record<string, string>>
  /** What the account can choose of an option, as its platform lists it. */
  readonly choices: Readonly<Record<string, readonly Choice[]>>
}

/** The values of one platform in the operator's file, by rule id. */
export type PlatformOverrides = ReadonlyMap<RuleId, number | readonly string[]>

const OPERATOR: LimitSource = { origin: 'operator', title: 'your administrator', seen: null, confidence: null }
const LIVE: LimitSource = { origin: 'live', title: 'the account, live', seen: null, confidence: null }
const NO_OVERRIDES: PlatformOverrides = new Map()

/**
 * The limits that apply: the platform's rules, then the operator's file, then the platform's reply for the account. The
 * later one wins.
 */
export function effectiveLimits(
  { rules }: Pick<Platform, 'rules'>,
  overrides: PlatformOverrides = NO_OVERRIDES,
  live?: Pick<LiveCapabilities, 'limits' | 'blocked' | 'choices' | 'learned'>,
): Limits {
  const byId = new Map<RuleId, Limit>()
  for (const { confidence, counting, effect, id, note, seen, source: title, value } of rules) {
    byId.set(id, { id, value, counting, effect, note, source: { origin: 'rule', title, seen, confidence } })
  }
  for (const [id, value] of overrides) byId.set(id, replaced(byId.get(id), id, value, OPERATOR))
  for (const [id, value] of Object.entries(live?.limits ?? {})) {
    if (isRuleId(id)) byId.set(id, replaced(byId.get(id), id, value, LIVE))
  }
  if (live?.learned !== undefined) addLearned(byId, live.learned)
  return { byId, blocked: live?.blocked ?? {}, choices: live?.choices ?? {} }
}

/** The refusal of a file counts for a week. After that, the limit may have been raised. */
const LEARNED_MS = 7 * DAY

/** What a refused file has shown, if that was not too long ago. */
export function currentLearned({ learned }: Pick<LiveCapabilities, 'learned'>, now: number): LearnedLimit | undefined {
  return learned !== undefined && now < Date.parse(learned.at) + LEARNED_MS ? learned : undefined
}

const SIZES = ['image.maxBytes', 'gif.maxBytes', 'video.maxBytes', 'document.maxBytes'] as const

/** A refused file says more than a rule that allows larger ones. */
function addLearned(byId: Map<RuleId, Limit>, { at, mostBytes }: LearnedLimit): void {
  const title = 'a larger file, which the platform refused'
  const source: LimitSource = { origin: 'live', title, seen: at.slice(0, 'YYYY-MM'.length), confidence: 'reported' }
  for (const id of SIZES) {
    const known = byId.get(id)
    if (typeof known?.value !== 'number' || known.value > mostBytes) {
      byId.set(id, { ...replaced(known, id, mostBytes, source), effect: undefined, note: LEARNED_NOTE })
    }
  }
}

const LEARNED_NOTE = 'The platform does not state its limit, which can be lower than this.'

/** Whether the engine knows a rule of this name. */
export function isRuleId(id: string): id is RuleId {
  return Object.hasOwn(RULE_IDS, id)
}

/** The value of a numeric rule; undefined when the platform has none. */
export function numberOf({ byId }: Limits, id: RuleId): number | undefined {
  const value = byId.get(id)?.value
  return typeof value === 'number' ? value : undefined
}

/** The values of a rule that lists some; undefined when the platform has none. */
export function listOf({ byId }: Limits, id: RuleId): readonly string[] | undefined {
  const value = byId.get(id)?.value
  return typeof value === 'object' ? value : undefined
}

function replaced(known: Limit | undefined, id: RuleId, value: Limit['value'], source: LimitSource): Limit {
  return { id, value, source, counting: known?.counting, effect: known?.effect, note: undefined }
}
