/** A target as the database and its platform have it. */
export interface PublishedTarget {
  readonly id: string
  readonly platform: string
  readonly status: string
  readonly code: string | null
  readonly message: string | null
  readonly whoActs: string | null
  readonly text: string
  readonly scheduledAt: Date
  readonly startBy: Date
  readonly nextAttemptAt: Date | null
  readonly leaseUntil: Date | null
  /** When it was first stored that the call that publishes is about to be made: half a second before its time at the earliest. */
  readonly calledAt: Date | null
  readonly attempts: number
  /** Whether nothing more happens by itself. */
  readonly isEnded: boolean
  /** When the posts that the platform has were published, in milliseconds since the epoch. */
  readonly published: readonly number[]
}

const FINAL = `'published', 'partial', 'failed', 'missed', 'cancelled'`

/** Reads all targets, as `PublishedTarget` without `published`. */
export const settled = `
  select t.id, t.platform, t.status, t.problem->>'code' as code, t.problem->>'message' as message,
    t.problem->>'whoActs' as "whoActs", p.body->>'content' as text, t.scheduled_at as "scheduledAt",
    t.start_by as "startBy", t.next_attempt_at as "nextAttemptAt", t.lease_until as "leaseUntil",
    s.called_at as "calledAt", a.attempts,
    (t.status in (${FINAL}) or (t.status = 'unconfirmed' and t.next_attempt_at is null and t.attempt_id is null)) as "isEnded"
  from post_targets t join posts p on p.id = t.post_id
    left join post_segments s on s.target_id = t.id and s.position = 0
    cross join lateral (select count(*)::int as attempts from post_attempts a where a.target_id = t.id) a`

/** A lease that ended is noticed by the watchdog, which runs every 20 s. */
const NOTICED_MS = 120_000

/** What is wrong, and a table of all outcomes. @param now the time at which the rows were read */
export function judge(rows: readonly PublishedTarget[], expected: number, now: number) {
  const violations = rows.flatMap((row) => faultsOf(row, now).map((fault) => `${fault}: ${JSON.stringify(row)}`))
  if (rows.length !== expected) violations.push(`there are ${rows.length} targets, not ${expected}`)
  return { violations, table: tableOf(rows) }
}

function faultsOf(row: PublishedTarget, now: number): string[] {
  const { calledAt, published, scheduledAt, startBy, status } = row
  const count = published.length
  const checks: readonly [fault: string, isBroken: boolean][] = [
    ['duplicate', count > 1],
    ['said to be published, but is not there', status === 'published' && count === 0],
    ['is there, but is not said to be', count > 0 && ['failed', 'missed', 'cancelled', 'scheduled'].includes(status)],
    ['silent', isSilent(row, now)],
    ['published before its time', published.some((at) => at < scheduledAt.getTime())],
    ['called after its late limit', calledAt !== null && calledAt.getTime() > startBy.getTime()],
  ]
  return checks.filter(([, isBroken]) => isBroken).map(([fault]) => fault)
}

/** Whether a due target has neither ended nor says why it waits. */
function isSilent({ code, isEnded, leaseUntil, nextAttemptAt, scheduledAt, status }: PublishedTarget, now: number) {
  if (status === 'published' || scheduledAt.getTime() > now) return false
  if (isEnded) return code === null
  const until = Math.max(leaseUntil?.getTime() ?? 0, nextAttemptAt?.getTime() ?? 0)
  return until + NOTICED_MS < now || (code === null && leaseUntil === null)
}

function tableOf(rows: readonly PublishedTarget[]): string {
  const groups = Map.groupBy(rows, ({ code, status, whoActs }) => [status, code ?? '', whoActs ?? ''].join(' | '))
  const lines = [...groups]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([outcome, some]) => {
      const platforms = Map.groupBy(some, ({ platform }) => platform)
      const parts = [...platforms].map(([platform, all]) => `${platform} ${all.length}`).join(', ')
      const attempts = (some.reduce((sum, { attempts: one }) => sum + one, 0) / some.length).toFixed(1)
      return `| ${outcome} | ${some.length} | ${attempts} | ${parts} |`
    })
  return [
    '| status | reason | who acts | targets | attempts each | platforms |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}
