/**
 * Violations that are faults of the descriptions, by platform: part of the line that the comparison prints, and why the
 * description is wrong. The descriptions come from third parties.
 */
const KNOWN: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  x: [
    [/must have required property '(?:meta|type)'/, 'requires `meta` and `type`, which the same schemas do not have'],
    [/\/append 200: request\.body/, 'has a file of a form as Base64, and two schemas that a segment matches both'],
  ],
  threads: [
    [/query\.metric:/, 'takes one metric; Meta’s pages have lists of them, with `shares`'],
    [/body\.status:/, 'lacks PUBLISHED and EXPIRED of the status of a container'],
  ],
  facebook: [
    [/request: Supported content types: application\/json/, 'takes JSON only; the examples on Meta’s pages are forms'],
    [/upload_phase: /, 'has phases in capitals; the Reels Publishing API has small letters'],
  ],
  instagram: [
    [/request: Supported content types: application\/json/, 'takes JSON only; the examples on Meta’s pages are forms'],
    [
      /refresh_access_token 200: request: Invalid security scheme/,
      'has the token in the header; Meta takes it in the URL',
    ],
  ],
  linkedin: [
    [/required property 'fileSizeBytes'/, 'requires the size of an image; the Images API takes the owner only'],
    [/body\.status:/, 'lacks AVAILABLE and WAITING_UPLOAD of the Images and Videos APIs'],
    [/query\.action:/, 'lacks `finalizeUpload` of the Videos API'],
    [/POST \/rest\/videos 200: response/, 'has one reply for both actions; `finalizeUpload` replies nothing'],
  ],
  telegram: [
    [/must match exactly one schema in oneOf/, 'has schemas of which the value of a form matches several'],
    [/sendMediaGroup 200: request\.body\.media: .* must be array/, 'has an array; in a form it is JSON'],
  ],
  tiktok: [[/\/oauth\/\w+\/ 200: request: Invalid security/, 'asks for a token where tokens are issued and revoked']],
  reddit: [
    [/body\.data\.(?:after|before): .* must be string/, 'lacks null, with which a listing begins and ends'],
    [/required property 'parent'/, 'calls `thing_id` of reddit.com/dev/api `parent`'],
  ],
}

/** Why a violation is no fault of ours; undefined if it may be one. */
export function faultOf(platform: string, line: string): string | undefined {
  return KNOWN[platform]?.find(([pattern]) => pattern.test(line))?.[1]
}
