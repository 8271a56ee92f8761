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
    if (kind.way === 'timed') {
      throw new MediaWorkError(
        'unsupported',
        'A picture is made of pictures and documents; of a video, ask for thumbnails.',
      )
    }
    return transcodeImage(path, output, spec, kind, context)
  }
  // A GIF is a picture to sharp and a video to ffmpeg. What is known of it describes the picture, which has no tracks.
  const isGif = kind.mime === 'image/gif'
  if (kind.way !== 'timed' && !isGif) {
    throw new MediaWorkError('unsupported', 'It is neither a video nor sound.')
  }
  if (spec.kind === 'audio') return transcodeAudio(source, output, spec, context)
  return transcodeVideo(isGif ? { ...source, probed: undefined } : source, output, spec, context)
}
