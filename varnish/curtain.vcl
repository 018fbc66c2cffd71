# The words about UpStage on our 503 page (pages.vcl). site.vcl has other words.

sub unavailable {
    set req.http.X-Title = "The curtain is down for a moment";
    set req.http.X-Message = "Our theatre server does not answer. Please try again in a few seconds.";
}
