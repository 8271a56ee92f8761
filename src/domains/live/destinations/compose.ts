import { SealedBox } from '../../../core/sealed-box.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { RtmpDestinations, type RtmpDestinationsOptions } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly destinations: ReturnType<typeof composeDestinations>['services']
  }
}

/** Builds the service of RTMP destinations, and the box that their keys are sealed in. */
export function composeDestinations(
  { clock, config, database: sql, secret }: Foundation,
  others: { readonly plans: PlanService } & Pick<RtmpDestinationsOptions, 'takeOffStreams'>,
) {
  const keys = new SealedBox(secret, 'destination keys')
  const allowPrivateAddresses = config.ALLOW_PRIVATE_ADDRESSES
  return {
    keys,
    services: { rtmp: new RtmpDestinations({ sql, clock, keys, allowPrivateAddresses, ...others }) },
  }
}
