import { defineError } from '../../../core/error.ts'

export const NotEnoughPosts = defineError({
  code: 'not_enough_posts',
  status: 409,
  message: 'There are not enough published posts to derive a style.',
  cause: 'A style is derived from at least three published posts with a text. The message says how many there are.',
  fix: 'Publish more posts, then try again.',
})

export const NotTranscribable = defineError({
  code: 'not_transcribable',
  status: 409,
  message: 'The asset cannot be transcribed.',
  cause: 'Only video and audio of at most three hours is transcribed, after the server has examined the file.',
  fix: 'The message says what the reason is. If the file was just uploaded, try again when its thumbnail is there.',
})

export const AiModelUnknown = defineError({
  code: 'ai_model_unknown',
  status: 409,
  message: 'The AI model of the workspace is not available on this server.',
  cause: 'The AI settings of the workspace name a model that is not in the setting `AI_MODELS` of the server.',
  fix: 'Choose one of the models in the message with PATCH /api/workspaces/{workspaceId}/ai-settings, or null for the default.',
})
