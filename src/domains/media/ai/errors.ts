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

export const AiLimitReached = defineError({
  code: 'ai_limit_reached',
  status: 402,
  message: 'The workspace has reached its limit of AI credits for this month.',
  cause:
    'The AI settings of the workspace limit its credits per month, and the request needs more credits than are left. `details` has the numbers.',
  fix: 'Wait until `details.periodEnd`, or change `creditLimitPerMonth` of the AI settings.',
})

export const AiModelUnknown = defineError({
  code: 'ai_model_unknown',
  status: 409,
  message: 'The AI model of the workspace is not available.',
  cause:
    'The AI settings of the workspace name a model that its AI provider does not have. If it has set none, the setting `AI_MODELS` of the server lists the models.',
  fix: 'Choose one of the models in the message with PATCH /api/workspaces/{workspaceId}/ai-settings, or null for the default.',
})
