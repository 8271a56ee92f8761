import { createHmac } from 'node:crypto'

/**
 * A webhook as Stripe sends it: the body, and the value of its header `Stripe-Signature`.
 * https://docs.stripe.com/webhooks/signature (2026-11)
 * @param secret of the endpoint
 * @param at milliseconds since the epoch
 */
export function signedWebhook(event: object, secret: string, at: number): { body: string; signature: string } {
  const body = JSON.stringify(event, null, 2)
  const time = Math.floor(at / 1000)
  const digest = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  return { body, signature: `t=${time},v1=${digest}` }
}
