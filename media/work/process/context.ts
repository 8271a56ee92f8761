import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { Threads } from '../threads/threads.ts'
import type { Progress } from '../types.ts'

/** What a job can use while it runs in the work process. */
export interface WorkContext {
  readonly limits: MediaWorkLimits
  /** Aborted with a MediaWorkError as reason. */
  readonly signal: AbortSignal
  readonly ffmpeg: Ffmpeg
  readonly threads: Threads
  /** A folder for intermediate files. Created on the first call and deleted at the end of the job. */
  scratch(): Promise<string>
  readonly progress: (progress: Progress) => void
}
