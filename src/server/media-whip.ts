import type { WhipSettings } from '../../media/types.ts'
import { requestWhip } from '../../media/whip/proxy.ts'
import type { Config } from '../config/config.ts'
import { previewKey } from './media-preview.ts'
import type { IceServer } from '../config/setting-readers.ts'
import type { Ffmpeg } from '../setup/ffmpeg.ts'
import type { AskWhip } from '../foundation.ts'

const USUAL_PORT = 8_189

/** How this node's media process accepts publishers over WHIP. */
export function whipSettings(
  { RTMP_HOST, WHIP_ANNOUNCED_IP, WHIP_PORT }: Config,
  ffmpeg: Ffmpeg | undefined,
): WhipSettings {
  return {
    host: RTMP_HOST === 'localhost' ? '127.0.0.1' : RTMP_HOST,
    port: WHIP_PORT ?? USUAL_PORT,
    orFree: WHIP_PORT === undefined,
    ...(WHIP_ANNOUNCED_IP && { announced: WHIP_ANNOUNCED_IP }),
    ...(ffmpeg && { ffmpeg: { path: ffmpeg.path, version: ffmpeg.version } }),
  }
}

/** Forwards WHIP clients to the media processes of other nodes. */
export function whipAsker(secret: string): AskWhip {
  const key = previewKey(secret)
  return (address, request) => requestWhip(address, request, key)
}

/** Values of the Link header that list ICE servers (RFC 9725, section 4.6). */
export function iceLinks(servers: readonly IceServer[]): string[] {
  return servers.map(({ password, url, user }) => {
    const credential =
      user === undefined ? '' : `; username="${user}"; credential="${password}"; credential-type="password"`
    return `<${url}>; rel="ice-server"${credential}`
  })
}
