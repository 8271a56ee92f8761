import { MediaWorkError, type MediaWorkErrorCode } from '../errors.ts'

/** Error messages of ffmpeg and ffprobe, and their meaning. The first match counts. */
const FAILURES: readonly (readonly [RegExp, MediaWorkErrorCode, string])[] = [
  [/SIGXFSZ|File too large/i, 'output_too_large', 'The output is larger than the limit.'],
  [/No space left on device|Disk quota exceeded/i, 'unavailable', 'The disk is full.'],
  [
    /Cannot allocate memory|bad_alloc|failed to map segment|error while loading shared libraries|pthread_create/i,
    'memory_limit',
    'The file needs more memory than the limit.',
  ],
  [/SIGXCPU/, 'timed_out', 'The file needs more computing time than the limit.'],
  [/moov atom not found|File ended prematurely|partial file/i, 'truncated', 'The file ends before its media does.'],
  [/not on whitelist|not in whitelist/i, 'unsupported', 'The file is a list of other files.'],
  [
    /Unknown encoder|No such filter|Unknown decoder|Decoder .*not found/i,
    'unavailable',
    'The ffmpeg of this server lacks a required codec or filter.',
  ],
  [
    /does not contain any stream|matches no streams|Output file #0 does not contain/i,
    'unsupported',
    'The file has no usable video or audio.',
  ],
  [
    /Invalid data found|could not find codec parameters|Error while decoding|Invalid argument/i,
    'damaged',
    'The file is damaged.',
  ],
  [/No such file or directory/i, 'missing', 'The file or folder does not exist.'],
  [/SIG(?:SEGV|ILL|BUS|FPE|ABRT)/, 'damaged', 'The file makes ffmpeg crash.'],
]

/** The error for a failed ffmpeg or ffprobe. @param ended how the program ended @param lines the last lines of its log */
export function failureOf(ended: string, lines: readonly string[]): MediaWorkError {
  const log = [
    ended,
    ...lines.filter((line) => /\[(?:error|fatal|panic)\]/.test(line) || !line.includes('[info]')),
  ].join('\n')
  for (const [pattern, code, message] of FAILURES) {
    if (pattern.test(log)) return new MediaWorkError(code, message, { cause: log })
  }
  return new MediaWorkError('failed', 'ffmpeg could not process the file.', { cause: log })
}
