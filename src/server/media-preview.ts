import { isIPv6 } from 'node:net'
import { openPreview } from '../../media/preview/open-preview.ts'
import type { PreviewSettings } from '../../media/preview/preview-server.ts'
import { endWhep, openWhep } from '../../media/whip/whep/proxy.ts'
import type { Config } from '../config/config.ts'
import type { OpenPreview, WhepLink } from '../foundation.ts'
import { keyFor } from '../tools/keys.ts'

/** The key with which nodes of the installation authenticate to media processes. The same on all nodes. */
export function previewKey(secret: string): Buffer {
  return keyFor(secret, 'media previews').bytes
}

/** Reads previews from the media nodes. */
export function previewOpener(secret: string): OpenPreview {
  const key = previewKey(secret)
  return (address, streamId) => openPreview(address, streamId, key)
}

/** Connects viewers over WebRTC to the media nodes. */
export function whepLink(secret: string): WhepLink {
  const key = previewKey(secret)
  return {
    open: (address, streamId, sdp) => openWhep(address, streamId, sdp, key),
    end: (address, streamId, session) => endWhep(address, streamId, session, key),
  }
}

/** Where this node's media process serves previews, and how API nodes reach it. */
export function previewSettings(
  { CLUSTER_ADDRESS, CLUSTER_HOST, MEDIA_PORT }: Config,
  secret: string,
): { readonly preview: PreviewSettings; readonly previewHost: string } {
  const advertised =
    CLUSTER_ADDRESS?.replace(/:\d+$/, '') ?? (isIPv6(CLUSTER_HOST) ? `[${CLUSTER_HOST}]` : CLUSTER_HOST)
  return { preview: { host: CLUSTER_HOST, port: MEDIA_PORT, key: previewKey(secret) }, previewHost: advertised }
}
