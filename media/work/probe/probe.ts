import { checkFile } from '../../playout/suitability.ts'
import type { WorkContext } from '../process/context.ts'
import { heicInfo } from '../thumbnails/heic.ts'
import { isComplete, imageInfo } from '../thumbnails/image.ts'
import { pdfInfo } from '../thumbnails/pdf.ts'
import { measureSvg } from '../thumbnails/svg.ts'
import type { ProbeResult } from '../types.ts'
import { fileKind, type FileKind } from './file-kind.ts'
import { probeTimed } from './timed.ts'

const STILL = {
  seconds: null,
  bitrate: null,
  video: null,
  audio: null,
  hasAudio: false,
  rotation: 0,
  pages: 1,
  streaming: null,
} as const

/** @throws MediaWorkError */
export async function probe(path: string, context: WorkContext): Promise<ProbeResult> {
  const kind = await fileKind(path)
  const { mime, bytes } = kind
  switch (kind.decoder) {
    case 'ffmpeg':
      return probeMedia(path, kind, context)
    case 'sharp': {
      const info = await imageInfo(path, kind, context.limits)
      const truncated = !(await isComplete(path, kind, context.limits))
      const { width, height, rotation, pages, hasAlpha, seconds } = info
      return { kind: 'image', mime, bytes, ...STILL, width, height, rotation, pages, hasAlpha, seconds, truncated }
    }
    case 'heic': {
      const { width, height, images, truncated } = await heicInfo(path, kind, context)
      return { kind: 'image', mime, bytes, ...STILL, width, height, pages: images, hasAlpha: false, truncated }
    }
    case 'svg': {
      const { width, height } = await measureSvg(path, kind, context)
      return { kind: 'image', mime, bytes, ...STILL, width, height, hasAlpha: true, truncated: false }
    }
    default: {
      const { pages } = await pdfInfo(path, kind, context)
      const size = { width: null, height: null }
      return { kind: 'document', mime, bytes, ...STILL, ...size, pages, hasAlpha: false, truncated: false }
    }
  }
}

async function probeMedia(path: string, { mime, bytes }: FileKind, context: WorkContext): Promise<ProbeResult> {
  const media = await probeTimed(path, { decoder: 'ffmpeg', mime, bytes }, context)
  const { video, audio, rotation, seconds, bitrate, hasAlpha, truncated } = media
  return {
    kind: video === null ? 'audio' : 'video',
    // The same containers are used for video and audio, so the tracks decide.
    mime: video === null ? mime.replace(/^video\//, 'audio/') : mime,
    bytes,
    width: video?.width ?? null,
    height: video?.height ?? null,
    seconds,
    rotation,
    bitrate,
    video,
    audio,
    hasAudio: audio !== null,
    pages: 1,
    hasAlpha,
    truncated,
    streaming: video === null ? null : await checkFile(path),
  }
}
