import type { Foundation } from '../../../foundation.ts'
import type { AssetLibrary } from '../../media/assets/index.ts'
import { Recordings } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly recordings: Recordings
  }
}

/** Builds the service of the domain. */
export function composeRecording({ clock }: Foundation, { assets }: { readonly assets: AssetLibrary }): Recordings {
  return new Recordings(clock, assets)
}
