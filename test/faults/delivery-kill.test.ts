import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { CrierProcess } from '../support/crier-process.ts'
import { PASSWORD } from '../support/people.ts'
import { createDatabase } from '../support/postgres.ts'
import { PushService } from '../support/push-service.ts'
import { startRedis } from '../support/redis.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { waitFor } from '../support/wait.ts'
import { status, WebhookReceiver } from '../support/webhook-receiver.ts'

/** Another node has the jobs within 30 s, and endpoints that waited for a reply within 50 s. */
const TAKEN_OVER = { timeoutMs: 180_000 }

const parsed = (raw: string) => PostalMime.parse(raw)

/**
 * A node is killed after other servers have got its mails, push message and webhook, and before it gets their replies. It
 * cannot know whether they were accepted, so the next node sends each again, with the same id. The tests run side by side,
 * because they wait for leases most of the time.
 */
test.concurrent.each(['postgres', 'redis'] as const)(
  'a mail, a report by schedule, a push message and a webhook of a killed node arrive, with the same ids, with jobs on %s',
  async (kind) => {
    const folder = await mkdtemp(join(tmpdir(), 'crier-delivery-'))
    const database = await createDatabase()
    const client = new Client({ connectionString: database.url })
    const redis = kind === 'redis' ? await startRedis() : undefined
    const [smtp, push, receiver] = await Promise.all([
      startSmtpServer(),
      new PushService().start(),
      new WebhookReceiver().start(),
    ])
    const env = {
      DATABASE_URL: database.url,
      JWT_SECRET: 'one secret of the node that is killed and the next one',
      ROLES: 'api,jobs',
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      ...(redis && { REDIS_URL: redis.url }),
    }
    const nodes: CrierProcess[] = []
    try {
      await client.connect()
      const first = await CrierProcess.start(await mkdtemp(join(folder, 'node-')), undefined, env)
      nodes.push(first)
      const signUp = (name: string) =>
        first.send('POST /api/auth/signup', { body: { email: `${name}@example.com`, password: PASSWORD, name } })
      const { apiKey, _id: userId } = (await signUp('ada')).body.user
      const call = async (route: string, body?: object) => {
        const reply = await first.send(route, { apiKey, ...(body && { body }) })
        expect([200, 201], reply.text).toContain(reply.status)
        return reply.body
      }
      await client.query('update users set email_verified = true')
      const workspaceId = (await call('POST /api/workspaces', { name: 'acme', timezone: 'UTC' })).data._id
      await call('POST /api/webhooks', { workspaceId, url: receiver.url('/hook'), events: ['folder.*'] })
      push.applicationServerKey = (await call('GET /api/users/me/devices')).applicationServerKey
      await call('POST /api/users/me/devices', { kind: 'web', subscription: push.subscribe('phone') })
      await call('PATCH /api/users/me/settings/notifications', { kinds: { billing: { push: true } } })

      smtp.holds = push.holds = true
      receiver.answer('/hook', () => undefined)
      await call('POST /api/assets/folders', { workspaceId, name: 'summer' })
      const told = { plan: 'Pro', reason: 'The card was declined.', day: '2026-11-24T00:00:00.000Z' }
      await client.query(
        `insert into outbox (id, name, queue, data, state, run_at, attempts, added, created_at, updated_at) values
         (gen_random_uuid(), 'notifications.spread', 'notifications', $1, 'waiting', now(), 0, 0, now(), now())`,
        [JSON.stringify({ type: 'billing.chargeFailed', userIds: [userId], actorId: null, data: told })],
      )
      expect((await signUp('bob')).status).toBe(201)
      const schedule = { workspaceId, name: 'Daily', interval: 'day', recipientEmails: ['ada@example.com'] }
      await call('POST /api/analytics/report-schedules', schedule)
      await client.query(`update report_schedules set next_at = now() - interval '1 minute'`)
      // The node stores the times of its jobs some seconds after its start.
      const hurry = () => client.query(`update job_schedules set next_at = now() where name = 'reports.due'`)
      await waitFor(async () => (await hurry()).rowCount === 1, { what: 'the times of jobs' })
      const isToBob = ({ to }: { to: readonly string[] }) => to.includes('bob@example.com')
      const isReport = ({ raw }: { raw: string }) => /^Subject: Daily:/m.test(raw)
      const hasMails = () => smtp.held.some(isToBob) && smtp.held.some(isReport)
      await waitFor(() => hasMails() && push.held.length > 0 && receiver.at('/hook').length > 0, {
        what: 'the servers to have everything',
      })
      await first.kill()

      const [mailBefore, pushBefore, [hookBefore]] = [smtp.held.find(isToBob), push.held[0], receiver.at('/hook')]
      const reportBefore = smtp.held.find(isReport)
      smtp.holds = push.holds = false
      receiver.answer('/hook', status(204))
      nodes.push(await CrierProcess.start(await mkdtemp(join(folder, 'node-')), undefined, env))
      const mailAfter = await waitFor(() => smtp.deliveries.find(isToBob), { ...TAKEN_OVER, what: 'the mail' })
      const pushAfter = await waitFor(() => push.to('phone')[0], { ...TAKEN_OVER, what: 'the push message' })
      const hookAfter = await waitFor(() => receiver.at('/hook')[1], { ...TAKEN_OVER, what: 'the webhook' })
      const reportAfter = await waitFor(() => smtp.deliveries.find(isReport), { ...TAKEN_OVER, what: 'the report' })
      const ids = [reportBefore, reportAfter].map(async (mail) => (await parsed(mail?.raw ?? '')).messageId)
      expect(await ids[1]).toBe(await ids[0])
      const statuses = async () => (await client.query('select status from report_deliveries')).rows
      await waitFor(async () => (await statuses())[0]?.status === 'sent', { ...TAKEN_OVER, what: 'the delivery' })
      expect([await statuses(), smtp.deliveries.filter(isReport).length]).toEqual([[{ status: 'sent' }], 1])
      const [before, after] = [await parsed(mailBefore?.raw ?? ''), await parsed(mailAfter.raw)]
      expect(before.messageId).toMatch(/^<.+@.+>$/)
      expect([after.messageId, after.text]).toEqual([before.messageId, before.text])
      expect(pushBefore?.message['notificationId']).toMatch(/^[0-9a-f-]{36}$/)
      expect(pushAfter.message['notificationId']).toBe(pushBefore?.message['notificationId'])
      // With the same topic, a push service replaces a message that it has not delivered.
      expect(pushAfter.headers['topic']).toBe(pushBefore?.headers['topic'])
      expect(hookBefore?.headers['webhook-id']).toMatch(/\d$/)
      expect([hookAfter.headers['webhook-id'], hookAfter.raw]).toEqual([
        hookBefore?.headers['webhook-id'],
        hookBefore?.raw,
      ])
    } finally {
      for (const node of nodes) await node.kill()
      await client.end()
      await redis?.stop()
      receiver.close()
      push.close()
      await smtp.close()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    }
  },
)
