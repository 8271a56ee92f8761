import { SealedBox } from '../../../core/sealed-box.ts'
import type { Foundation } from '../../../foundation.ts'
import { Previews, type PreviewsOptions } from './previews.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly previews: Previews
  }
}

/** Builds the service of previews. `open` and `whep` reach media nodes. */
export function composePreviews(
  { clock, config, coordination, database: sql, log, secret }: Foundation,
  others: Pick<PreviewsOptions, 'media' | 'memberships' | 'open' | 'whep' | 'links'>,
): Previews {
  return new Previews({
    sql,
    clock,
    coordination,
    tokens: new SealedBox(secret, 'preview tokens'),
    publicUrl: config.PUBLIC_URL,
    log: log.child({ part: 'previews' }),
    ...others,
  })
}
