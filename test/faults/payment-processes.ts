import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ManualClock } from '../../src/core/clock.ts'
import type { PaymentStartData } from '../../src/domains/money/payments/schemas.ts'
import type { Step } from '../../src/domains/money/payments/steps.ts'
import type { Shop } from '../support/payments.ts'

/** What a process is asked to do, and at which step it ends itself. */
export type Order = { readonly killAt?: Step | undefined } & (
  | { readonly kind: 'initialize'; readonly userId: string }
  | { readonly kind: 'verify'; readonly userId: string; readonly reference: string }
  | { readonly kind: 'webhook'; readonly request: { readonly body: string; readonly signature: string } }
  | { readonly kind: 'refund'; readonly userId: string; readonly paymentId: string }
  | { readonly kind: 'sweep' | 'reconcile' }
)

/** What has become of an order: `killed` when the process has ended before it could answer. */
export interface Outcome {
  readonly killed: boolean
  readonly error?: string
  readonly result?: unknown
}

interface Answer extends Omit<Outcome, 'killed'> {
  readonly id: number
}

const CODE_CACHE = join(tmpdir(), 'crier-test-code')
const WORKER = fileURLToPath(new URL('payments-worker.ts', import.meta.url))

/** A process with payments on the database of a shop. It starts again after it was killed. */
export class PaymentProcess {
  readonly #shop: Pick<Shop, 'app' | 'stripe'>
  readonly #clock: ManualClock
  readonly #waiting = new Map<number, (outcome: Outcome) => void>()
  #child: Promise<ChildProcess> | undefined
  #count = 0
  kills = 0

  constructor(shop: Pick<Shop, 'app' | 'stripe'>, clock: ManualClock) {
    this.#shop = shop
    this.#clock = clock
  }

  async run(order: Order): Promise<Outcome> {
    this.#child ??= this.#start()
    const child = await this.#child
    this.#count += 1
    const id = this.#count
    const outcome = new Promise<Outcome>((resolve) => this.#waiting.set(id, resolve))
    child.send({ id, order, now: this.#clock.now() })
    return outcome
  }

  /** @throws Error when it was killed, or the order has failed */
  async begin(userId: string): Promise<PaymentStartData> {
    const { error, result } = await this.run({ kind: 'initialize', userId })
    if (result === undefined) throw new Error(`a payment could not begin: ${error}`)
    return result as PaymentStartData
  }

  async stop(): Promise<void> {
    const child = await this.#child
    if (child === undefined || child.exitCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async #start(): Promise<ChildProcess> {
    const { app, stripe } = this.#shop
    const child = fork(WORKER, {
      env: {
        PATH: process.env['PATH'] ?? '',
        // Processes start again and again.
        NODE_COMPILE_CACHE: CODE_CACHE,
        NOW: String(this.#clock.now()),
        DATABASE_URL: app.databaseUrl,
        JWT_SECRET: 'payments-worker-payments-worker-0',
        STRIPE_SECRET_KEY: stripe.secretKey,
        STRIPE_PUBLISHABLE_KEY: stripe.publicKey,
        STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
        STRIPE_API_URL: stripe.url,
      },
    })
    child.on('message', (message: Answer | 'ready') => {
      if (message === 'ready') return
      const { id, ...rest } = message
      this.#waiting.get(id)?.({ killed: false, ...rest })
      this.#waiting.delete(id)
    })
    child.once('exit', () => {
      this.kills += 1
      this.#child = undefined
      for (const end of this.#waiting.values()) end({ killed: true })
      this.#waiting.clear()
    })
    await once(child, 'message')
    return child
  }
}
