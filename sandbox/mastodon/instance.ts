/** The limits of the server (docs.joinmastodon.org/entities/Instance, 2026-11). */
export const MAX_CHARACTERS = 500
export const MAX_MEDIA = 4
export const IMAGE_BYTES = 16_777_216
export const VIDEO_BYTES = 103_809_024
export const IMAGE_PIXELS = 33_177_600
export const MAX_IN_DESCRIPTION = 1_500
export const MAX_OPTIONS = 4
export const MAX_IN_OPTION = 50
/** Seconds. */
export const SHORTEST_POLL = 300
export const LONGEST_POLL = 2_629_746
export const TYPES = [
  ...['jpeg', 'png', 'gif', 'webp', 'heic', 'heif', 'avif'].map((one) => `image/${one}`),
  ...['mp4', 'quicktime', 'webm'].map((one) => `video/${one}`),
  ...['mpeg', 'ogg', 'wav', 'flac', 'aac'].map((one) => `audio/${one}`),
]

/** What `/api/v2/instance` of Mastodon 4.3 says. */
export function instanceView(base: string) {
  const host = new URL(base).host
  return {
    domain: 'sandbox',
    title: 'Crier’s sandbox of Mastodon',
    version: '4.3.0',
    source_url: 'https://github.com/mastodon/mastodon',
    description: '',
    usage: { users: { active_month: 1 } },
    thumbnail: { url: `${base}/thumbnail.png`, blurhash: null, versions: {} },
    icon: [],
    languages: ['en'],
    configuration: {
      urls: { streaming: `ws://${host}` },
      vapid: { public_key: '' },
      accounts: { max_featured_tags: 10, max_pinned_statuses: 5 },
      statuses: {
        max_characters: MAX_CHARACTERS,
        max_media_attachments: MAX_MEDIA,
        characters_reserved_per_url: 23,
      },
      media_attachments: {
        supported_mime_types: TYPES,
        image_size_limit: IMAGE_BYTES,
        image_matrix_limit: IMAGE_PIXELS,
        video_size_limit: VIDEO_BYTES,
        video_frame_rate_limit: 120,
        video_matrix_limit: 8_294_400,
        description_limit: MAX_IN_DESCRIPTION,
      },
      polls: {
        max_options: MAX_OPTIONS,
        max_characters_per_option: MAX_IN_OPTION,
        min_expiration: SHORTEST_POLL,
        max_expiration: LONGEST_POLL,
      },
      translation: { enabled: false },
    },
    registrations: { enabled: false, approval_required: false, message: null, url: null },
    // The number of the API of 4.3 (docs.joinmastodon.org/entities/Instance/#api-versions, 2026-11).
    api_versions: { mastodon: 2 },
    contact: { email: '', account: null },
    rules: [],
  }
}
