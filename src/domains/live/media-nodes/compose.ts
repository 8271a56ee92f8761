import type { Foundation } from '../../../foundation.ts'
import { MediaDirectory } from './media-directory.ts'
import { StreamNotices } from './notices.ts'
import { Placement } from './placement.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly mediaNodes: MediaNodes
  }
}

type MediaNodes = ReturnType<typeof composeMediaNodes>['services']['mediaNodes']

/** Builds the directory of media nodes, the placement of streams, and the notices. */
export function composeMediaNodes({ clock, config, coordination }: Foundation) {
  const directory = new MediaDirectory(clock, coordination)
  const mediaNodes = {
    directory,
    placement: new Placement(directory, clock, config.PUBLIC_RTMP_URL),
    notices: new StreamNotices(coordination),
  }
  return { services: { mediaNodes }, close: () => directory.close() }
}
