/**
 * A rule of a platform, as data. Platforms change their rules without notice, so each has its source and the month in
 * which it was read. An operator can override the value, and the platform's live reply for an account replaces both.
 */
export interface Rule {
  /** Unique in its platform: `text.max`, `image.maxBytes`. The engine evaluates the ids in `RULE_IDS`. */
  readonly id: RuleId
  readonly value: number | readonly string[]
  /** How `value` counts; null for lists and plain numbers of items. */
  readonly counting?: CountingMethod
  /** The title of the page or code that states the rule. */
  readonly source: string
  /** Year and month in which the source was read. */
  readonly seen: `${number}-${number}`
  readonly confidence: Confidence
  /** Additional information for the user. */
  readonly note?: string
  /**
   * What the platform does with content beyond the limit, if it does not refuse it: `crops the image`. The breach is
   * then a warning.
   */
  readonly effect?: string
}

/** `read`: in a copy of the official page or code. `vendor`: in documents of other vendors. `reported`: by users. */
export type Confidence = 'read' | 'vendor' | 'reported'

/** How the length of a text is counted. */
export const COUNTING = {
  characters: 'Unicode code points',
  graphemes: 'User-perceived characters (UAX #29)',
  bytes: 'Bytes in UTF-8',
  utf16: 'UTF-16 code units',
  x_weighted: 'Weighted as twitter-text does: a URL is 23, emoji and CJK are 2',
  mastodon: 'User-perceived characters, with a URL as 23 and of a mention only the local part',
  threads: 'Characters, with emoji as their bytes in UTF-8',
} as const

export type CountingMethod = keyof typeof COUNTING

/**
 * Every rule that the engine knows, with its unit. A platform supports only what it has a rule for: without `title.max`
 * it has no titles, without `thread.max` no threads, without `poll.maxOptions` no polls, and without any `document` rule no documents. If a platform
 * supports something but a limit is missing (`video.maxSeconds`), the source states no limit.
 */
export const RULE_IDS = {
  'text.max': 'length of the text',
  'text.maxBytes': 'bytes of the text',
  'text.distinct': 'latest posts of an account from which the text of a post without media must differ',
  'text.required': '1 when a text is required',
  'caption.max': 'length of the text beside media',
  'caption.maxWithImages': 'length of the text beside images, where it differs',
  'title.max': 'length of the title',
  'title.maxWithImages': 'length of the title of a post of images, where other posts have no title',
  'title.required': '1 when a title is required',
  'alt.max': 'length of an alt text',
  'comment.max': 'length of the first comment',
  'link.max': 'characters of the link',
  'link.card': '1 when a post can have a link card in addition to its text',
  'link.inText': '1 when the link of a post without a card is published at the end of its text',
  'link.withMedia': '0 when a post with files can have no link',
  'links.max': 'different links of a text, with the link of the post',
  'link.shortened': '1 when the platform replaces links in the text by short ones',
  'hashtags.max': 'hashtags in the text',
  'mentions.max': 'mentions in the text',
  'tags.max': 'characters of all tags together',
  'thread.max': 'parts of a thread; 1 when threads are not supported',
  'thread.textMax': 'length of the text of a part after the first one; as `text.max` when absent',
  'thread.mediaMax': 'media files of a part after the first one; as `media.max` when absent',
  'media.required': '1 when media is required',
  'video.required': '1 when a video is required',
  'media.max': 'media files of a post',
  'media.mixed': '1 when images and videos can be mixed',
  'image.max': 'images of a post',
  'image.min': 'images of a post of several images',
  'image.maxBytes': 'bytes of an image',
  'image.maxPixels': 'pixels of an image',
  'image.maxSides': 'width and height of an image together, in pixels',
  'image.minWidth': 'pixels',
  'image.minHeight': 'pixels',
  'image.minRatio': 'width divided by height',
  'image.maxRatio': 'width divided by height',
  'image.types': 'media types',
  'gif.max': 'animated images of a post',
  'gif.maxBytes': 'bytes of an animated image',
  'gif.mixed': '1 when animated images can be mixed with images, 0 when they stand alone; as `media.mixed` when absent',
  'video.max': 'videos of a post',
  'video.maxBytes': 'bytes of a video',
  'video.minBytes': 'bytes of a video',
  'video.minSeconds': 'seconds',
  'video.maxSeconds': 'seconds',
  'video.minWidth': 'pixels',
  'video.minHeight': 'pixels',
  'video.minRatio': 'width divided by height',
  'video.maxRatio': 'width divided by height',
  'video.minFps': 'frames per second',
  'video.maxFps': 'frames per second',
  'video.types': 'media types',
  'video.codecs': 'video codecs',
  'document.max': 'documents of a post',
  'document.maxBytes': 'bytes of a document',
  'document.maxPages': 'pages of a document',
  'document.types': 'media types',
  'document.mixed': '1 when documents can be mixed with other files',
  'poll.minOptions': 'answers of a poll',
  'poll.maxOptions': 'answers of a poll',
  'poll.optionMax': 'length of an answer of a poll',
  'poll.questionMax': 'length of the question of a poll',
  'poll.minMinutes': 'minutes of a poll',
  'poll.maxMinutes': 'minutes of a poll',
  'poll.stepMinutes': 'minutes of which the duration of a poll is a multiple',
  'poll.durations': 'minutes that a poll can last, where there are only some',
  'poll.withMedia': '0 when a post with a poll can have no files',
  'schedule.minMinutes': 'minutes from now, where the platform itself schedules',
  'schedule.maxDays': 'days from now, where the platform itself schedules',
  'posts.perDay': 'posts of an account in 24 hours',
  'posts.perHour': 'posts of an account in an hour',
  'replies.perDay': 'replies of an account in 24 hours',
  'app.postsPerDay':
    'posts of all accounts of this server in 24 hours, because the platform counts them for its app. Parts of threads and comments count',
  'app.uploadsPerDay': 'the same without parts of threads and comments',
  'cost.perDay': 'US dollars that an account may spend in 24 hours, where the platform charges. Set by the operator',
} as const

export type RuleId = keyof typeof RULE_IDS
