import { MediaWorkError, type MediaWorkErrorCode } from '../errors.ts'

/** What ffmpeg and ffprobe say, and what it means. The first that fits counts. */
const MEANINGS: readonly (readonly [RegExp, MediaWorkErrorCode, string])[] = [
  [/SIGXFSZ|File too large/i, 'output_too_large', 'The result is larger than is allowed.'],
  [/No space left on device|Disk quota exceeded/i, 'unavailable', 'The disk is full.'],
  [
    /Cannot allocate memory|bad_alloc|failed to map segment|error while loading shared libraries|pthread_create/i,
    'memory_limit',
    'It takes more memory than is allowed.',
  ],
  [/SIGXCPU/, 'timed_out', 'It took more computing time than is allowed.'],
  [/moov atom not found|File ended prematurely|partial file/i, 'truncated', 'The file ends before its media does.'],
  [/not on whitelist|not in whitelist/i, 'unsupported', 'The file is a list of other files.'],
  [
    /Unknown encoder|No such filter|Unknown decoder|Decoder .*not found/i,
    'unavailable',
    'The ffmpeg of this server lacks what is needed.',
  ],
  [
    /does not contain any stream|matches no streams|Output file #0 does not contain/i,
    'unsupported',
    'There is nothing in it that can be used.',
  ],
  [
    /Invalid data found|could not find codec parameters|Error while decoding|Invalid argument/i,
    'damaged',
    'The file is damaged.',
  ],
  [/No such file or directory/i, 'missing', 'There is no such file or folder.'],
  [/SIG(?:SEGV|ILL|BUS|FPE|ABRT)/, 'damaged', 'The file makes ffmpeg crash.'],
]

/** @param ended how the program ended; @param lines what it said last */
export function failureOf(ended: string, lines: readonly string[]): MediaWorkError {
  const said = [
    ended,
    ...lines.filter((line) => /\[(?:error|fatal|panic)\]/.test(line) || !line.includes('[info]')),
  ].join('\n')
  for (const [pattern, code, message] of MEANINGS) {
    if (pattern.test(said)) return new MediaWorkError(code, message, { cause: said })
  }
  return new MediaWorkError('failed', 'ffmpeg could not work on the file.', { cause: said })
}
