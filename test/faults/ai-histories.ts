import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { AiJobData } from '../../src/domains/media/ai/schemas.ts'
import { beeps } from '../support/beeps.ts'
import { PASSWORD } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import type { Reply, SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'
import type { AiNode } from './ai-node.ts'

const STEPS = 6
/** The length of the transcribed sound. Its pauses are sent too, because they are short. */
const SOUND_SECONDS = 130
const SOUND_CREDITS = 3
/** The share of steps that kill the node. A kill affects all histories that are played at the same time. */
const KILLS = 0.01
const CREDITS_PER_MONTH = 10_000

/** A user with a workspace, who plays one history after the other. */
export interface Player {
  readonly userId: string
  readonly apiKey: string
  readonly workspaceId: string
  readonly assetId: string
}

export async function newPlayer(node: AiNode): Promise<Player> {
  const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, name: 'Player' }
  const { user } = (await node.call('POST /api/auth/signup', { body })).body
  await node.pool.query('update users set email_verified = true where id = $1', [user._id])
  await node.pool.query(`update subscriptions set plan = 'business' where user_id = $1`, [user._id])
  const call = async (route: string, options: SendOptions) => {
    const reply = await node.call(route, { apiKey: user.apiKey, ...options })
    if (reply.status >= 300) throw new Error(`${route}: ${reply.text}`)
    return reply.body.data
  }
  const { _id: workspaceId } = await call('POST /api/workspaces', { body: { name: 'Histories', timezone: 'UTC' } })
  await call('POST /api/social-accounts', { body: { workspaceId, platform: 'mastodon', sandbox: true } })
  const file = { name: 'talk.wav', content: beeps(SOUND_SECONDS), type: 'audio/wav' }
  const { _id: assetId } = await call('POST /api/assets/upload', { body: { workspaceId }, file })
  await waitFor(
    async () => (await call('GET /api/assets/{id}', { path: { id: assetId } })).thumbnail.status !== 'pending',
    { what: 'an examined sound', timeoutMs: 240_000, intervalMs: 500 },
  )
  return { userId: user._id, apiKey: user.apiKey, workspaceId, assetId }
}

/** How many histories ended with jobs in each state. */
export type Tally = Map<string, number>

/**
 * Plays a random history: it requests captions, transcripts and analyses, some of them twice at once with the same key,
 * and cancels some, while the model misbehaves and the node is killed. A request whose reply was lost is repeated with
 * the same key. When every job has ended, the jobs, the ledger, the balance and the series of use must agree.
 */
export async function playHistory(node: AiNode, player: Player, seed: number, tally: Tally): Promise<void> {
  const random = randomOf(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const { apiKey, assetId, workspaceId } = player
  const asked: { readonly id: string; readonly topic: string }[] = []
  for (let step = 0; step < STEPS; step += 1) {
    const topic = `history ${seed} step ${step}`
    const headers = { 'Idempotency-Key': topic.replaceAll(' ', '-') }
    const of = { apiKey, headers }
    if (random() < KILLS || (step === 2 && seed % 50 === 1)) setTimeout(() => node.kill(), random() * 30)
    const kind = pick([
      'caption',
      'caption',
      'caption',
      'caption',
      'caption',
      'analysis',
      'analysis',
      'transcription',
      'cancel',
    ] as const)
    if (kind === 'cancel') {
      const job = pick(asked)
      if (job === undefined) continue
      const reply = await node.call('POST /api/ai/jobs/{id}/cancel', { ...of, path: { id: job.id } })
      expect([200, 409], `${topic}: ${reply.text}`).toContain(reply.status)
      continue
    }
    const body = {
      caption: {
        workspaceId,
        text: topic,
        variantCount: 1 + Math.floor(random() * 5),
        ...(random() < 0.3 && { platforms: ['mastodon', 'x'] }),
      },
      analysis: { workspaceId, question: topic },
      transcription: { workspaceId, assetId },
    }[kind]
    const request = () => node.call(ROUTES[kind], { ...of, body })
    const replies = await Promise.all(random() < 0.2 ? [request(), request()] : [request()])
    const ids = new Set(replies.map((reply) => jobIdIn(reply, topic)))
    expect([topic, ids.size]).toEqual([topic, 1])
    for (const id of ids) asked.push({ id, topic })
  }
  await compare(node, player, asked, tally)
}

const ROUTES = {
  caption: 'POST /api/ai/captions',
  analysis: 'POST /api/analytics/ai-analysis',
  transcription: 'POST /api/ai/transcriptions',
} as const

function jobIdIn(reply: Reply, topic: string): string {
  expect(reply.status, `${topic}: ${reply.text}`).toBe(202)
  return reply.body.data._id
}

async function compare(
  node: AiNode,
  { apiKey, userId, workspaceId }: Player,
  asked: readonly { readonly id: string; readonly topic: string }[],
  tally: Tally,
): Promise<void> {
  for (const { id, topic } of asked) {
    // A job that was lost too often is ended by a schedule, every five minutes.
    const job = await waitFor(
      async () => {
        const { data } = (await node.call('GET /api/ai/jobs/{id}', { apiKey, path: { id } })).body
        return (data as AiJobData).finishedAt === null ? undefined : (data as AiJobData)
      },
      { what: `the end of ${topic}`, timeoutMs: 420_000, intervalMs: 250 },
    )
    const outcome = job.state === 'failed' ? `failed: ${job.error}` : job.state
    tally.set(outcome, (tally.get(outcome) ?? 0) + 1)
    expect([topic, job.creditsUsed, job.state]).toEqual([topic, priceOf(job), job.state])
    for (const { content } of job.result?.captions ?? []) expect(content).toContain(topic)
  }
  const { rows } = await node.pool.query<{ jobs: number; used: number; reserved: number; ledger: number }>(
    `select (select count(*)::integer from ai_jobs where workspace_id = $1) as jobs,
       (select coalesce(sum(credits_used), 0)::integer from ai_jobs where workspace_id = $1) as used,
       (select coalesce(-sum(line.amount), 0)::integer from ledger_lines line
        join ledger_entries entry on entry.id = line.entry_id join ledger_accounts account on account.id = line.account_id
        where entry.kind = 'credit_use' and account.owner_id = $2) as ledger`,
    [workspaceId, userId],
  )
  const [{ jobs, ledger, used } = { jobs: 0, ledger: -1, used: -1 }] = rows
  const { credits } = (await node.call('GET /api/ai/usage', { apiKey })).body.data
  const { creditsUsed, dailyUse } = (await node.call('GET /api/ai/usage/series', { apiKey })).body.data
  const inSeries = dailyUse.reduce((sum: number, day: { creditsUsed: number }) => sum + day.creditsUsed, 0)
  const topic = asked[0]?.topic
  const found = { topic, reserved: credits.reserved, remaining: credits.remaining, ledger, creditsUsed, inSeries }
  const left = CREDITS_PER_MONTH - used
  expect(found).toEqual({ topic, reserved: 0, remaining: left, ledger: used, creditsUsed: used, inSeries: used })
  // A request that was repeated with its key has made one job.
  expect(jobs).toBe(seen(workspaceId, asked.length))
}

/** What a job must have cost. */
function priceOf({ kind, result, state }: AiJobData): number {
  if (state !== 'done') {
    expect(result).toBeNull()
    return 0
  }
  if (kind === 'analysis') return 2
  if (kind === 'transcription') return SOUND_CREDITS
  return new Set(result?.captions?.map(({ variantNumber }) => variantNumber)).size
}

const counts = new Map<string, number>()

/** The jobs that the histories of a workspace have requested. */
function seen(workspaceId: string, more: number): number {
  const count = (counts.get(workspaceId) ?? 0) + more
  counts.set(workspaceId, count)
  return count
}
