import type { Services } from '../../../core/services.ts'
import { Outgoing } from '../../../fetch/outgoing.ts'
import type { Foundation } from '../../../foundation.ts'
import { Bookings } from './bookings.ts'
import { Charges } from './charges.ts'
import { GatewayEvents } from './gateway-events.ts'
import { coinGateways, tokenGateways } from './gateways/crypto/compose.ts'
import { Gateways } from './gateways/directory.ts'
import { ManualGateway } from './gateways/manual.ts'
import type { StripeSettings } from './gateways/stripe/gateway.ts'
import { Intents } from './intents.ts'
import { PaymentMethods } from './methods.ts'
import { Purposes } from './purposes.ts'
import { Reconciliation } from './reconciliation.ts'
import { Refunds } from './refunds.ts'
import { Reversals } from './reversals.ts'
import { Settlement } from './settlement.ts'
import { Steps } from './steps.ts'
import { PaymentSweeper } from './sweeper.ts'
import { Transactions } from './transactions.ts'
import { walletPurpose } from './wallet-purpose.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly payments: ReturnType<typeof composePayments>['services']['payments']
  }
}

/** Builds the services of payments. */
export function composePayments(
  { clock, config, database, log: root }: Foundation,
  { ledger, plans }: Pick<Services, 'ledger' | 'plans'>,
) {
  const log = root.child({ part: 'payments' })
  const outgoing = new Outgoing()
  const gateways = new Gateways(log)
  const steps = new Steps()
  const purposes = new Purposes()
  purposes.register('wallet', walletPurpose)
  const methods = new PaymentMethods(database, clock, gateways, plans)
  const reversals = new Reversals(clock, ledger, purposes)
  const settlement = new Settlement({ database, clock, ledger, plans, purposes, methods, reversals, steps })
  const intents = new Intents(clock, plans, purposes)
  const charges = new Charges({ database, clock, gateways, intents, methods, settlement, steps })
  const refunds = new Refunds({ database, clock, gateways, settlement, steps })
  const events = new GatewayEvents({ database, clock }, gateways, charges, methods, steps)
  return {
    services: {
      payments: {
        bookings: new Bookings(database, settlement),
        charges,
        events,
        gateways,
        methods,
        purposes,
        reconciliation: new Reconciliation({ database, clock, log, gateways, settlement, events }),
        refunds,
        steps,
        sweeper: new PaymentSweeper({ database, clock, log, gateways, charges, events, refunds, settlement }),
        transactions: new Transactions(database),
      },
    },
    start: async () => {
      for (const gateway of await gatewaysOf(config, outgoing, clock)) gateways.add(gateway)
      for (const gateway of await tokenGateways(config, outgoing, clock, database)) gateways.add(gateway)
    },
    close: () => outgoing.close(),
  }
}

/** Whether the operator has configured a way to pay. */
export function takesPayments(config: Foundation['config']): boolean {
  const { BANK_TRANSFER_INSTRUCTIONS, CRYPTO_NODE_URL, EVM_RPC_URL } = config
  const others = [BANK_TRANSFER_INSTRUCTIONS, CRYPTO_NODE_URL, EVM_RPC_URL]
  return stripeSettings(config) !== undefined || others.some((setting) => setting !== undefined)
}

/** The settings of Stripe, if it is configured. */
function stripeSettings(config: Foundation['config']): StripeSettings | undefined {
  const { STRIPE_PUBLISHABLE_KEY: publicKey, STRIPE_SECRET_KEY: secretKey } = config
  const { STRIPE_WEBHOOK_SECRET: webhookSecret } = config
  if (secretKey === undefined || publicKey === undefined || webhookSecret === undefined) return undefined
  return { secretKey, publicKey, webhookSecret, apiUrl: config.STRIPE_API_URL, scriptUrl: config.STRIPE_SCRIPT_URL }
}

async function stripeGateway(settings: StripeSettings, outgoing: Outgoing, clock: Foundation['clock']) {
  // The SDK has 200 modules, so it is loaded only where it is needed.
  const { StripeGateway } = await import('./gateways/stripe/gateway.ts')
  return new StripeGateway(settings, outgoing, clock)
}

/** The configured gateways for coins, cards and transfers, in the order in which payers see them. */
async function gatewaysOf(config: Foundation['config'], outgoing: Outgoing, clock: Foundation['clock']) {
  const { BANK_TRANSFER_INSTRUCTIONS: transfers } = config
  const stripe = stripeSettings(config)
  return [
    ...coinGateways(config, outgoing, clock),
    ...(stripe === undefined ? [] : [await stripeGateway(stripe, outgoing, clock)]),
    ...(transfers === undefined ? [] : [new ManualGateway(transfers, config.BANK_TRANSFER_CURRENCIES, clock)]),
  ]
}
