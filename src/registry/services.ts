import type { Services } from '../core/services.ts'
import type { Composed, Domain } from '../domain.ts'
import type { Foundation } from '../foundation.ts'
import { domains } from './domains.ts'

/** Services of the layers below the domains, which exist before any domain is composed. */
export type LayerServices = Pick<
  Services,
  'idempotency' | 'jobs' | 'mailLimits' | 'mailer' | 'queues' | 'storage' | 'turnOutcomes' | 'turns'
>

/** The services that a domain uses. */
type Used<D> = D extends { readonly compose: (foundation: Foundation, services: infer S) => unknown } ? keyof S : never

/** The services that a domain adds. */
type Made<D> = D extends { readonly compose: (...given: never) => { readonly services: infer S } } ? keyof S : never

/** The services that a domain uses although they are composed after it, and those that no domain composes. */
type Missing<List, Given, Found = never> = List extends readonly [infer First, ...infer Rest]
  ? Missing<Rest, Given | Made<First>, Found | Exclude<Used<First>, Given>>
  : Found | Exclude<keyof Services, Given>

type None<Names extends never> = Names

/** A type error here names a service that is composed too late or not at all: change the order of the domains. */
export type NotComposed = None<Missing<typeof domains, keyof LayerServices>>

/** The composed domains of a node. */
export interface ComposedDomains {
  readonly services: Services
  /** Prepares the services, in the order of the list. Await it before the first request. */
  start(): Promise<void>
  /** Ends timers and subscriptions, in the reverse order. */
  close(): Promise<void>
}

/** Composes every domain, in the order of the list. */
export function composeDomains(foundation: Foundation, layers: LayerServices): ComposedDomains {
  const services: object = { ...layers }
  const composed: Composed[] = []
  for (const { compose } of domains as readonly Domain[]) {
    if (compose === undefined) continue
    const made = compose(foundation, services as Services)
    Object.assign(services, made.services)
    composed.push(made)
  }
  return {
    services: services as Services,
    start: async () => {
      for (const { start } of composed) await start?.()
    },
    close: async () => {
      for (const { close } of composed.toReversed()) await close?.()
    },
  }
}
