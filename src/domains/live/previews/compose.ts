import { SealedBox } from '../../../tools/sealed-box.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { Previews } from './previews.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly previews: Previews
  }
}

/** Builds the service of the domain. */
export function composePreviews(
  foundation: Foundation,
  { mediaNodes, workspaces }: Pick<Services, 'mediaNodes' | 'workspaces'>,
) {
  const { config, log, media, secret } = foundation
  const previews = new Previews({
    ...foundation,
    tokens: new SealedBox(secret, 'preview tokens'),
    media: mediaNodes.directory,
    memberships: workspaces.memberships,
    open: media.openPreview,
    whep: media.whep,
    links: media.iceLinks,
    publicUrl: config.PUBLIC_URL,
    log: log.child({ part: 'previews' }),
  })
  return { services: { previews }, close: () => previews.close() }
}
