import { SealedBox } from '../../../tools/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { RtmpDestinations } from './service.ts'
import { RtmpDestinationTests } from './tests.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly destinations: ReturnType<typeof composeDestinations>['services']['destinations']
  }
}

/** Builds the service of RTMP destinations, and the encryption of their keys. */
export function composeDestinations(foundation: Foundation, { plans }: Pick<Services, 'plans'>) {
  const { config, secret } = foundation
  const keys = new SealedBox(secret, 'destination keys')
  const allowPrivateAddresses = config.ALLOW_PRIVATE_ADDRESSES
  const rtmp = new RtmpDestinations({ ...foundation, keys, plans, allowPrivateAddresses })
  const tests = new RtmpDestinationTests({ ...foundation, keys })
  return { services: { destinations: { keys, rtmp, tests } } }
}
