import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { openSource } from '../probe/source-file.ts'
import type { ProbeResult, TranscodeResult } from '../types.ts'
import { transcodeAudio } from './audio.ts'
import { transcodeImage } from './image.ts'
import type { TranscodeSpec } from './spec.ts'
import { transcodeVideo } from './video.ts'

/** @throws MediaWorkError */
export async function transcode(
  path: string,
  output: string,
  { spec, probed }: { readonly spec: TranscodeSpec; readonly probed?: ProbeResult | undefined },
  context: WorkContext,
): Promise<TranscodeResult> {
  const source = await openSource(path, probed)
  const { kind } = source
  if (spec.kind === 'image') {
    if (kind.decoder === 'ffmpeg') {
      throw new MediaWorkError(
        'unsupported',
        'Images can be made only from images and documents. For a video, use its thumbnails.',
      )
    }
    return transcodeImage(path, output, spec, kind, context)
  }
  // sharp opens a GIF as an image, ffmpeg as a video. An earlier probe describes the image, which has no tracks.
  const isGif = kind.mime === 'image/gif'
  if (kind.decoder !== 'ffmpeg' && !isGif) {
    throw new MediaWorkError('unsupported', 'The file is neither video nor audio.')
  }
  if (spec.kind === 'audio') return transcodeAudio(source, output, spec, context)
  return transcodeVideo(isGif ? { ...source, probed: undefined } : source, output, spec, context)
}
