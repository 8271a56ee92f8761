import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { fileKind } from '../probe/file-kind.ts'
import type { TranscodeResult } from '../types.ts'
import { transcodeAudio } from './audio.ts'
import { transcodeImage } from './image.ts'
import type { TranscodeSpec } from './spec.ts'
import { transcodeVideo } from './video.ts'

/** @throws MediaWorkError */
export async function transcode(
  path: string,
  output: string,
  spec: TranscodeSpec,
  context: WorkContext,
): Promise<TranscodeResult> {
  const kind = await fileKind(path)
  if (spec.kind === 'image') {
    if (kind.way === 'timed') {
      throw new MediaWorkError(
        'unsupported',
        'A picture is made of pictures and documents; of a video, ask for thumbnails.',
      )
    }
    return transcodeImage(path, output, spec, kind, context)
  }
  // A GIF is a picture to sharp and a video to ffmpeg, and both are right.
  if (kind.way !== 'timed' && kind.mime !== 'image/gif') {
    throw new MediaWorkError('unsupported', 'It is neither a video nor sound.')
  }
  if (spec.kind === 'audio') return transcodeAudio(path, output, spec, kind, context)
  return transcodeVideo(path, output, spec, kind, context)
}
