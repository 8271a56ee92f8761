import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/error.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { timeZoneOf } from '../../workspace/workspaces/index.ts'
import type { AuthorSettings } from './author-settings.ts'
import { general } from '../../../platforms/rules/problem.ts'
import { failureView, type PostChecks } from './checks.ts'
import {
  bodyOf,
  AccountNotUsable,
  BudgetExceeded,
  ModelTextNotReleased,
  QueueFull,
  dryScope,
  type NewPostInput,
  type PostCheck,
} from '../posts/index.ts'
import {
  wantedTargets,
  type NewPostTimes,
  type Timing,
  type PlannedTime,
  hasTime,
  requireOneTime,
  requireTargets,
} from '../planning/index.ts'
import type { PostQuota } from './quota.ts'
import { repeatedText, repeatedTexts, textsOf, type WantedText } from './repeated-texts.ts'
import type { TextOrigins } from './text-origin/text-origins.ts'

/** Who asks, and with what credential. */
export type PostCaller = Pick<Caller, 'userId' | 'via'>

type PostCheckData = Static<typeof PostCheck>

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly checks: PostChecks
  readonly times: NewPostTimes
  readonly settings: AuthorSettings
  readonly quota: PostQuota
  readonly origins: TextOrigins
}

/** Errors that say why a post cannot be scheduled, rather than that the request is wrong. */
const REPORTED: readonly string[] = [AccountNotUsable, BudgetExceeded, QueueFull, ModelTextNotReleased].map(
  ({ code }) => code,
)

/** Says what creating a post would do, without a change. */
export class PostValidation {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** What the platforms say to a post, and why it could not be scheduled. @throws AppError validation_failed */
  async validate(given: NewPostInput, caller: PostCaller): Promise<PostCheckData> {
    const { checks, clock, quota, settings, sql } = this.#needs
    const { userId } = caller
    const input = await settings.apply(given, userId, { sql })
    const { workspaceId } = input
    requireOneTime(input)
    const isTimed = hasTime(input)
    const zone = input.timezone ?? (isTimed ? await timeZoneOf(sql, workspaceId) : 'UTC')
    const body = bodyOf(input)
    const untimed = wantedTargets(input.targets ?? [], null, zone)
    const resources = await checks.resources({ sql, workspaceId }, body, untimed)
    const targets = await checks.checkWithFixes(body, untimed, resources)
    const isAccepted = targets.every(({ isValid }) => isValid)
    const refusal = await quota.check(sql, workspaceId)
    const planned = refusal === undefined ? [] : [problemOf(refusal)]
    const isValid = isAccepted && refusal === undefined
    if (!isTimed) return { isValid, targets, ...timeView(null), problems: planned }
    const at = new Date(clock.now()).toISOString()
    const timing = { at, body, resources, untimed, zone, workspaceZone: undefined, userId }
    const { problems, time } = await this.#planned(input, timing, caller)
    const timed = untimed.map((target) => {
      const { accountId, override, ownTime } = target
      return { accountId, override, scheduledAt: (ownTime ? target.time : time)?.scheduledAt ?? null }
    })
    return {
      isValid: isValid && problems.length === 0,
      targets: await withRepeats(sql, targets, textsOf(body, timed)),
      ...timeView(time),
      problems: [...planned, ...problems],
    }
  }

  async #planned(
    input: NewPostInput,
    timing: Timing,
    caller: PostCaller,
  ): Promise<{ time: PlannedTime | null; problems: PostCheckData['problems'] }> {
    const { checks, origins, sql, times } = this.#needs
    const { body, resources, untimed } = timing
    const scope = { ...dryScope(sql, input.workspaceId), caller }
    const problems: PostCheckData['problems'] = []
    const report = (error: unknown) => {
      if (!(error instanceof AppError) || !REPORTED.includes(error.code)) throw error
      problems.push(problemOf(error))
    }
    for (const target of untimed) {
      try {
        checks.requireUsable([target], resources)
      } catch (error) {
        report(error)
      }
    }
    let time: PlannedTime | null = null
    try {
      time = await times.timeFor(scope, input, timing)
      if (time !== null) requireTargets(untimed)
    } catch (error) {
      report(error)
    }
    try {
      await origins.requireReleasedTexts(scope, [body], untimed, resources.files)
    } catch (error) {
      report(error)
    }
    return { time, problems }
  }
}

/** The checks, with a warning where the account has a post with the same text within an hour. */
async function withRepeats(
  sql: Sql,
  targets: PostCheckData['targets'],
  texts: readonly WantedText[],
): Promise<PostCheckData['targets']> {
  const found = await repeatedTexts(sql, texts)
  const repeated = new Map([...found].map(([index, { scheduledAt }]) => [texts[index]?.accountId, scheduledAt]))
  return targets.map((target) => {
    const at = repeated.get(target.accountId)
    if (at === undefined) return target
    const { message, nextStep: fix } = repeatedText(at)
    const warning = failureView(general('text.repeated', 'warning', { pointer: '/text', message, fix }))
    return { ...target, warnings: [...target.warnings, warning] }
  })
}

/** An error of createPost, as a check reports it. */
export function problemOf({ code, definition, details, errors, message }: AppError): PostCheckData['problems'][number] {
  return { code, message, nextStep: definition.fix, details: { ...details, ...(errors !== undefined && { errors }) } }
}

function timeView(time: PlannedTime | null) {
  const { localTime = null, scheduledAt = null, timeZone = null } = time ?? {}
  return { scheduledFor: scheduledAt, localTime, timezone: timeZone }
}
