import { job, schedule, type JobContext } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'
import type { Services } from '../../../core/services.ts'

const data = Type.Object({ webhookId: Id })
type Context = JobContext<{ webhookId: string }> & Services

const run = ({ data: { webhookId }, signal, webhooks }: Context) => webhooks.deliverer.run(webhookId, signal)

/** Sends new events to one endpoint. */
export const deliverWebhook = job({
  name: 'webhooks.deliver',
  summary: 'Send events to the endpoint of a webhook',
  queue: 'webhooks',
  data,
  attempts: 20,
  run,
})

/** The same for endpoints that fail or reply slowly. They have their own queue, so that they delay no others. */
export const retryWebhook = job({
  name: 'webhooks.retry',
  summary: 'Send events to the endpoint of a webhook that fails or is slow',
  queue: 'webhook-retries',
  data,
  attempts: 20,
  run,
})

export const testWebhookDelivery = job({
  name: 'webhooks.test',
  summary: 'Send a test to the endpoint of a webhook',
  queue: 'webhook-retries',
  data: Type.Object({ deliveryId: Id }),
  run: ({ data: { deliveryId }, signal, webhooks }) => webhooks.deliverer.test(deliveryId, signal),
})

export const sweepWebhooks = schedule({
  name: 'webhooks.sweep',
  summary: 'Send events to webhooks that were left behind when a node died',
  cron: '*/20 * * * * *',
  run: ({ signal, webhooks }) => webhooks.wakes.sweep(signal),
})

export const pruneWebhookDeliveries = schedule({
  name: 'webhooks.prune',
  summary: 'Delete deliveries of webhooks that are older than 30 days',
  cron: '27 3 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ signal, webhooks }) => void (await webhooks.deliveries.prune(signal)),
})
