// The layout without the bar that loads another description.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
});
