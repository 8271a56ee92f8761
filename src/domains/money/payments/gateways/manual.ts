import { DAY, type Clock } from '../../../../core/clock.ts'
import { textsFor, type Texts } from '../../../../language/texts.ts'
import type { Gateway, GatewayPayment, KnownPayment, NewGatewayPayment } from './gateway.ts'

/** How long a transfer can take. What arrives later is credited to the wallet. */
const OPEN_MS = 30 * DAY

/** Bank transfers. The gateway is an administrator, who books what has arrived. */
export class ManualGateway implements Gateway {
  readonly key = 'manual'
  readonly config: Gateway['config']
  readonly #instructions: string
  readonly #clock: Clock

  constructor(instructions: string, currencies: readonly string[], clock: Clock) {
    this.#instructions = instructions
    this.#clock = clock
    this.config = {
      title: 'Bank transfer',
      kind: 'transfer',
      publicKey: null,
      scriptUrl: null,
      currencies,
      minimums: {},
      savesMethods: false,
      coins: [],
    }
  }

  async create({ couponHeldUntil, language = 'en', reference, total }: NewGatewayPayment): Promise<GatewayPayment> {
    const texts = textsFor(language)
    const own = [texts.say('payment.transfer.reference', { reference }), ...deadline(couponHeldUntil, texts)]
    return {
      ...open(reference, { total }),
      data: { instructions: [this.#instructions, ...own].join('\n\n') },
      expiresAt: this.#clock.now() + OPEN_MS,
    }
  }

  async retrieve(reference: string, known: KnownPayment): Promise<GatewayPayment> {
    return open(reference, known)
  }

  async cancel(reference: string, known: KnownPayment): Promise<GatewayPayment> {
    return { ...open(reference, known), status: 'cancelled' }
  }

  async *list(): AsyncIterable<GatewayPayment> {
    // Nothing is known about a bank account.
  }
}

/** What payers must know if a coupon is held for them. */
function deadline(until: number | undefined, texts: Texts): string[] {
  return until === undefined ? [] : [texts.say('payment.transfer.coupon', { time: texts.time(until) })]
}

function open(reference: string, { total }: Pick<KnownPayment, 'total'>): GatewayPayment {
  return { reference, status: 'pending', total, received: 0, refunds: [] }
}
