import { join } from 'node:path'
import type { ListenSettings } from '../../media/listen.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { FakeStripe } from '../../sandbox/stripe/server.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/log.ts'
import { takesPayments } from '../domains/money/payments/index.ts'
import { PLATFORMS } from '../platforms/registry.ts'
import { explainListening } from './explain-listening.ts'
import type { Undo } from './undo.ts'

interface Starting {
  readonly clock: Clock
  readonly log: Logger
  readonly undo: Undo
  /** The lines of the startup banner. */
  readonly facts: [string, string][]
}

/** Each platform has a port, from the first one on. */
const PORTS: ListenSettings = { port: 'SANDBOX_PORT', count: PLATFORMS.length }

/**
 * The configuration with the sandbox in place of the social platforms, if it is on. Payments go to it as well, unless the
 * operator has configured a way to pay.
 */
export async function withSandbox(config: Config, starting: Starting): Promise<Config> {
  if (!config.SANDBOX) return config
  const { clock, facts, undo } = starting
  const listening = startSandbox({
    clock,
    host: '127.0.0.1',
    port: config.SANDBOX_PORT,
    folder: join(config.DATA_DIR, 'sandbox'),
  })
  const sandbox = await explainListening(listening, PORTS, '127.0.0.1', config.SANDBOX_PORT)
  undo.add('sandbox', () => sandbox.close())
  facts.push(['Sandbox', 'on: accounts and posts of its platforms are not real'])
  const payments = takesPayments(config) ? {} : await paymentsOfSandbox(starting)
  return { ...config, ...payments, PLATFORMS: { ...config.PLATFORMS, ...sandbox.settings } }
}

async function paymentsOfSandbox({ clock, log, undo }: Starting) {
  const stripe = await FakeStripe.start({ clock })
  undo.add('sandbox for payments', () => stripe.close())
  log.info({ part: 'payments', url: stripe.url }, 'payments go to a sandbox')
  return {
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_PUBLISHABLE_KEY: stripe.publicKey,
    STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    STRIPE_API_URL: stripe.url,
    STRIPE_SCRIPT_URL: stripe.scriptUrl,
    BANK_TRANSFER_INSTRUCTIONS: 'The bank of the sandbox',
  }
}
